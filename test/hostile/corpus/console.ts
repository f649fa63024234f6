import { sender } from '../requests.ts'
import { entriesFrom, type HostileRow, rows } from '../row.ts'

/** Requests for the console, and for the root, from which browsers are sent there. */
export function consoleRows(): HostileRow[] {
  const send = sender({})
  const roots = (...values: string[]) =>
    entriesFrom(values, (value) => send('GET /', { Accept: value }), 'Accept: ')
  const encodings = (...values: string[]) =>
    entriesFrom(values, (value) => send('GET /console/', { 'Accept-Encoding': value }), 'Accept-Encoding: ')
  const targets = (...paths: string[]) => entriesFrom(paths, (path) => send(`GET ${path}`))
  const conditions = (...values: string[]) =>
    entriesFrom(values, (value) => send('GET /console/', { 'If-None-Match': value }), 'If-None-Match: ')

  return [
    ...rows(
      roots(
        '',
        '*/*',
        'text/html;q=0',
        'text/html;q=0.000',
        'text/html;q=',
        'text/html;q=-1',
        'text/html;q=NaN',
        'text/html;q=1e9',
        'text/html;q=0.0001',
        'text/html;q=\xff',
        'text/htm',
        'text/html2',
        'text\\html',
        '"text/html"',
        'text/ html',
        '__proto__',
        ','.repeat(15_000),
        ';q=1'.repeat(3_000),
        'a/b,'.repeat(3_000),
      ),
      403,
    ),
    ...rows(
      roots('text/html', 'TEXT/HTML;Q=0.001', ',,text/html,,', `${'a/b,'.repeat(3_000)}text/html`),
      303,
    ),
    ...rows({ 'Accept with a NUL': send('GET /', { Accept: 'text/html\0' }) }, 400),
    ...rows({ 'a change at the root': send('POST /', { Accept: 'text/html' }, '{}') }, 403),
    ...rows(
      encodings(
        '',
        'gzip',
        'gzip;q=0',
        'gzip;q=\xff',
        'gzip;q="1"',
        '*',
        '*;q=0, identity;q=0',
        'identity;q=0',
        '__proto__',
        ',;=,;=',
        'gzip'.repeat(3_000),
        'gzip,'.repeat(2_500),
        'gzip;'.repeat(2_500),
      ),
      200,
    ),
    ...rows({ 'Accept-Encoding with a NUL': send('GET /console/', { 'Accept-Encoding': 'gzip\0' }) }, 400),
    ...rows(
      targets(
        '/console/..%2f',
        '/console/..%2f..',
        '/console/..%2f..%2fetc%2fpasswd',
        '/console/%2e%2e%2fconfigurations',
        '/console/%2e%2e',
        '/console/..',
        '/console/%2f',
        '/console/%5c..%5c',
        '/console/%00',
        '/console/main.ts',
        '/console/index.html',
        '/console/tsconfig.json',
        '/console/.gz',
        '/console/__proto__',
        '/console/constructor',
        '/console/console.json',
        `/console/${'a'.repeat(7_000)}`,
      ),
      404,
    ),
    ...rows(
      targets(
        '/console//',
        '/console/../',
        '/console/a/b',
        '/console/%',
        '/console/%ff',
        '/Console/',
        '/console%2f',
        '/%63onsole',
        '/%63onsole/',
        '/console;/',
        '/console/../configurations/',
      ),
      403,
    ),
    ...rows(targets('/console', '/console?', '/console?//evil', '/console?%0d%0aA:b'), 308),
    ...rows(conditions('*', ' * ', 'W/"x", *', '"x'.repeat(5_000), ',,,', '', '"\xff"', 'x'), [200, 304]),
    ...rows({ 'If-Match of the console': send('GET /console/', { 'If-Match': '"x"' }) }, 412),
    ...rows(
      {
        'a range of the console': send('GET /console/', { Range: 'bytes=0-0,-1' }),
        'ranges that overlap': send('GET /console/', { Range: `bytes=${'0-,'.repeat(4_000)}0-` }),
        'a range with a condition': send('GET /console/', { Range: 'bytes=0-0', 'If-Range': '"x"' }),
        'HTTP/1.0': 'GET /console/ HTTP/1.0\r\n\r\n',
      },
      200,
    ),
  ]
}
