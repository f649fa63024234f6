import { HEADER_BYTES_MAX, HEADER_FIELDS_MAX } from '../../../src/limits.ts'
import { addition, configuration, deletion, list, nobody, sender, victim } from '../requests.ts'
import { entriesFrom, type HostileRow, type Loot, prefixed, rows } from '../row.ts'

/** Header fields: their grammar, their number and size, and those that try to change what a request means. */
export function headerRows({ bearer }: Loot): HostileRow[] {
  const send = sender({ Authorization: bearer })
  const smuggled = deletion({ Authorization: bearer })
  const heads = (...lines: string[]) =>
    entriesFrom(
      lines,
      (line) => `GET ${victim} HTTP/1.1\r\nHost: a\r\nAuthorization: ${bearer}\r\n${line}\r\n\r\n`,
    )
  const hosts = (...values: string[]) =>
    entriesFrom(values, (value) => send('GET /healthz', { Host: value }), 'Host: ')
  const record = (name: string) => JSON.stringify(configuration({ name }))

  /** A request with a head of exactly so many bytes, in few fields or many. */
  const ofBytes = (bytes: number, line: string) => {
    const bare = send('GET /healthz')
    const lines = line === '' ? '' : line.repeat((bytes - bare.length) / line.length - 1)
    const rest = bytes - bare.length - lines.length
    const last = rest >= 5 ? `Y: ${'y'.repeat(rest - 5)}\r\n` : ''
    return bare.replace(/\r\n$/, `${lines}${last}\r\n`)
  }

  const withFields = (count: number, nameOf: (i: number) => string) => {
    const fields = Array.from({ length: count }, (_, i) => `${nameOf(i)}: 1\r\n`).join('')
    return send('GET /healthz').replace(/\r\n$/, `${fields}\r\n`)
  }

  return [
    ...rows(
      heads(
        'X y: 1',
        'X : 1',
        'X\t: 1',
        'X\x0b: 1',
        ': 1',
        ' : 1',
        'X',
        'X=1',
        ' X: 1',
        '\tX: 1',
        'X: 1\r\n folded',
        'X: 1\r\n\tfolded',
        'X: 1\r\n \r\n folded twice',
        'Authorization: x\r\n y',
        'X: a\0b',
        'X: \0',
        'X: a\x01b',
        'X: a\x0bb',
        'X: a\x1bb',
        'X: a\x7fb',
        'X: a\rb',
        'X: a\nHost: b',
        'X: a\r\r\nHost: b',
        'X: a\nb: c',
        'X\x80: 1',
        'X\xa0: 1',
        'X\0: 1',
        'X\x7f: 1',
        'X\r: 1',
        'X\n: 1',
        '(x): 1',
        '"X": 1',
        'X/y: 1',
        'X@y: 1',
        'X[]: 1',
        'X{y}: 1',
        'X;y: 1',
        'X,y: 1',
        'X\\y: 1',
        'X?: 1',
        '<x>: 1',
        'GET / HTTP/1.1',
        'Content-Type: a/b\r\nContent-Type: c/d',
        'Content-Encoding: gzip\r\nContent-Encoding: br',
        'Origin: a\r\nOrigin: b',
        'Sec-Fetch-Site: none\r\nSec-Fetch-Site: none',
        'Host: a',
        'Host: b',
        'hOST: b',
        'Host:',
      ),
      400,
    ),
    ...rows(
      {
        'Authorization twice': send('GET /healthz', { authorization: bearer }),
        'Authorization twice, differing': send('GET /healthz', { authorization: 'x' }),
      },
      400,
    ),
    ...rows(
      heads(
        '__proto__: x',
        '__proto__: x\r\n__proto__: y',
        'constructor: x',
        'toString: x',
        'hasOwnProperty: x',
        "!#$%&'*+-.^_`|~9: 1",
        'X:',
        'X: \t 1 \t ',
        'X: \xff\x80\xe9',
        'X::::',
        `X: \${jndi:ldap://a/b}`,
        "User-Agent: () { :;}; echo 'x'",
        'Accept: */*;q=\r\nAccept: a, , ,b',
        'Accept-Encoding: gzip, br, deflate, zstd, *;q=1',
        'Accept-Language: ../../../../etc/passwd',
        'Range: bytes=0-0',
        'Range: bytes=-1',
        'Range: bytes=9999999999999999999-',
        'Range: bytes=5-2, 0-0, 0-0',
        `Range: bytes=${'0-0,'.repeat(1_300)}0-0`,
        'Range: lines=1-2\r\nIf-Range: "x"',
        'Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA',
        'Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
        'Upgrade: TLS/1.2, HTTP/1.1\r\nConnection: Upgrade',
        'Upgrade: \r\nConnection: upgrade',
        'Connection: Authorization',
        'Connection: Host, Authorization, Cookie',
        'Connection: keep-alive, close',
        'Connection: close, keep-alive',
        'Connection: ,,,',
        'Connection: __proto__',
        'Proxy-Connection: keep-alive\r\nKeep-Alive: timeout=999999999, max=0',
        'TE: trailers, chunked;q=0\r\nTrailer: Authorization, Content-Length',
        'Via: 1.1 a, 1.1 b\r\nMax-Forwards: -1',
        'X-Request-Id: <script>',
        `X-Request-Id: ${'x'.repeat(5_000)}`,
        'X-Request-Id: a\r\nX-Request-Id: b',
        'X-Request-Id: %0d%0aSet-Cookie: a=b',
        'Max-Forwards: 0\r\nDestination: /',
        'Content_Length: 5',
        'Proxy: http://evil/',
      ),
      200,
    ),
    // Only the request line gives the method and the path.
    ...rows(
      prefixed(
        'overridden: ',
        heads(
          'X-HTTP-Method-Override: DELETE',
          'X-HTTP-Method: DELETE',
          'X-Method-Override: DELETE',
          'X-Original-Method: DELETE',
          '_method: DELETE',
          `X-Original-URL: ${nobody}`,
          `X-Rewrite-URL: ${nobody}`,
          `X-Forwarded-Uri: ${nobody}`,
          `X-Forwarded-Path: ${nobody}`,
          `X-Forwarded-Prefix: /prefix`,
          `X-Forwarded-Method: DELETE`,
          `X-Forwarded-Host: evil`,
          `X-Forwarded-Proto: https, http`,
          `X-Forwarded-For: 127.0.0.1, \xff, ::1`,
          `Forwarded: for="[::1]:80";proto=https;host=evil;by=_x`,
          `X-Forwarded-For: ${'1.1.1.1, '.repeat(1_500)}1.1.1.1`,
          `Forwarded: for="unterminated`,
        ),
      ),
      200,
    ),
    ...rows(
      {
        'overridden method of a POST': send(`POST ${victim}`, { 'X-HTTP-Method-Override': 'DELETE' }, ''),
        'overridden method in the query': send(`POST ${victim}?_method=DELETE`, {}, ''),
        'overridden method in the body': send(
          `POST ${victim}`,
          { 'Content-Type': 'application/x-www-form-urlencoded' },
          '_method=DELETE',
        ),
      },
      405,
    ),
    ...rows(
      entriesFrom(
        [
          'X-Forwarded-For: 127.0.0.1',
          'X-Real-IP: 127.0.0.1',
          'True-Client-IP: 127.0.0.1',
          'Client-IP: ::1',

          'CF-Connecting-IP: 127.0.0.1',
          'X-Client-IP: localhost',
          'X-Cluster-Client-IP: ::1',
          'X-Host: localhost',
          'X-Custom-IP-Authorization: 127.0.0.1',
          'Forwarded: for=127.0.0.1',
          'X-Remote-User: admin',

          'X-Forwarded-User: admin',
          'X-Authenticated-User: admin',
          'Remote-User: admin',
          'X-User: admin',

          'X-Forwarded-Proto: https',
          'X-Original-URL: /healthz',
          'X-Rewrite-URL: /login',
          'Referer: http://a/',
          'Proxy-Authorization: Basic YWRtaW46YWRtaW4=',
          'X-Api-Key: admin',
          'Authorized: true',
        ],
        (line) => {
          const [name = '', value = ''] = line.split(': ')
          return deletion({ [name]: value })
        },
        'no credential, but ',
      ),
      403,
    ),
    ...rows(
      {
        // If the header were trusted, each wrong login would come from another address.
        'throttling evaded by X-Forwarded-For': Array.from({ length: 11 }, (_, i) =>
          sender({
            'X-Forwarded-For': `10.0.0.${i}`,
            'X-Real-IP': `10.0.0.${i}`,
            Forwarded: `for=10.0.0.${i}`,
          })('POST /login', {}, '{"username":"forwarded","password":"x"}'),
        ).join(''),
      },
      ...Array.from({ length: 10 }, () => 401),
      429,
    ),
    ...rows({ 'no Host': `GET /healthz HTTP/1.1\r\n\r\n` }, 400),
    ...rows({ 'no Host with HTTP/1.0': 'GET /healthz HTTP/1.0\r\n\r\n' }, 200),
    ...rows({ 'two Hosts with HTTP/1.0': 'GET /healthz HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n' }, 400),
    ...rows(
      hosts(
        'a/b',
        '/',
        'http://a',
        'u@a',
        'u:p@a',
        'a b',
        'a\tb',
        'a, b',
        'a?b',
        'a#b',
        'a\\b',
        'a|b',
        'a^b',
        '<a>',
        '"a"',
        '{a}',
        'a`b',
        '\xe9',
        '\xff',
        '\xc3\xa9',
        '\xef\xbb\xbfa',
        'a\0',
        '\x7f',
      ),
      400,
    ),
    // An authority may be empty or unusual; nothing here depends on it.
    ...rows(
      hosts(
        '',
        'a:',
        ':80',
        'a:0080',
        'a:99999',
        '[::1]:8080',
        "!$&'()*+,;=",
        '%41',
        'evil',
        'a'.repeat(300),
      ),
      200,
    ),
    ...rows(
      {
        'Expect with an unknown expectation': send(`POST ${list}`, { Expect: '200-ok' }, record('n')),
        'Expect of 100-continue and more': send(`POST ${list}`, { Expect: '100-continue, x' }, record('n')),
        'Expect of 100-continue with a parameter': send(
          `POST ${list}`,
          { Expect: '100-continue;q=1' },
          record('n'),
        ),
        'Expect in quotes': send(`POST ${list}`, { Expect: '"100-continue"' }, record('n')),
        'a smuggled request behind an Expect': send('GET /healthz', { Expect: 'x' }) + smuggled,
      },
      417,
    ),
    {
      ...addition(
        'Expect in capitals is asked for the body',
        send(`POST ${list}`, { Expect: '100-CONTINUE' }, record('expected')),
        configuration({ name: 'expected' }),
      ),
      allowed: [[100], [200]],
    },
    addition(
      'Expect in HTTP/1.0 does not count (RFC 9110 section 10.1.1)',
      send(`POST ${list}`, { Expect: '100-continue' }, record('expected in 1.0')).replace('/1.1', '/1.0'),
      configuration({ name: 'expected in 1.0' }),
    ),
    ...rows({ 'Expect without a body': send('GET /healthz', { Expect: '100-continue' }) }, 200),
    ...rows(
      { 'Expect without a credential': deletion({ Expect: '100-continue', 'Content-Length': '5' }) },
      403,
    ),
    ...rows(
      {
        'Expect with too long a body': send(`POST ${list}`, {
          Expect: '100-continue',
          'Content-Length': '70000',
        }),
      },
      413,
    ),
    ...rows(
      {
        'nearly the maximum number of fields': withFields(HEADER_FIELDS_MAX - 10, () => 'a'),
        'nearly the maximum number of fields, of different names': withFields(
          HEADER_FIELDS_MAX - 10,
          (i) => `a${i}`,
        ),
        'one field up to the limit': ofBytes(HEADER_BYTES_MAX, ''),
        'many fields up to the limit': ofBytes(HEADER_BYTES_MAX, `X: ${'x'.repeat(100)}\r\n`),
      },
      200,
    ),
    ...rows(
      {
        'a value beyond the limit': send('GET /healthz', { X: 'x'.repeat(HEADER_BYTES_MAX) }),
        'a name beyond the limit': send('GET /healthz', { ['x'.repeat(HEADER_BYTES_MAX)]: '1' }),
        'many fields beyond the limit': send('GET /healthz').replace(
          /\r\n$/,
          `${'X: xxxxxxxxxx\r\n'.repeat(4_000)}\r\n`,
        ),
        'a smuggled request behind too long a header':
          send('GET /healthz', { X: 'x'.repeat(20_000) }) + smuggled,
      },
      431,
    ),
    // A Host that is not a valid authority (RFC 9112 section 3.2).
    ...rows(
      hosts(
        'a:b',
        'a:80:80',
        'a:-1',
        'a:80x',
        '::1',
        '[::1',
        '::1]',
        '[::1]x',
        '[zz]',
        '[]',
        'a]',
        'a%zz',
        'a%',
        '%',
      ),
      400,
    ),
    ...rows(
      {
        'more fields than the limit': withFields(HEADER_FIELDS_MAX + 1, () => 'a'),
        'more fields than the limit, of different names': withFields(HEADER_FIELDS_MAX + 1, (i) => `a${i}`),
        'a megabyte of fields': send('GET /healthz').replace(
          /\r\n$/,
          `${'X: xxxxxxxxxx\r\n'.repeat(70_000)}\r\n`,
        ),
        '20,000 bytes of tiny fields': send('GET /healthz').replace(
          /\r\n$/,
          `${'a:1\r\n'.repeat(4_000)}\r\n`,
        ),
      },
      431,
    ),
  ]
}
