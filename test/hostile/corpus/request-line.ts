import { deletion, list, sender, victim } from '../requests.ts'
import { cutRows, entriesFrom, type HostileRow, type Loot, rows } from '../row.ts'

/** Methods, versions, and bytes that are not HTTP. */
export function requestLineRows({ bearer }: Loot): HostileRow[] {
  const send = sender({ Authorization: bearer })
  const smuggled = deletion({ Authorization: bearer })
  const fields = `\r\nHost: a\r\nAuthorization: ${bearer}\r\n\r\n`
  const lines = (...texts: string[]) => entriesFrom(texts, (line) => line + fields)

  return [
    ...rows({ 'nothing but empty lines': '\r\n\r\n\r\n' }),
    ...rows(
      { 'an empty line before the request (RFC 9112 section 2.2)': `\r\n${send('GET /healthz')}` },
      200,
    ),
    ...rows(
      {
        'two lines without version': `GET ${list}\r\nGET ${list}\r\n`,
        'bare LF for each line end': send(`GET ${list}`).replaceAll('\r\n', '\n'),
        'bare CR for each line end': send(`GET ${list}`).replaceAll('\r\n', '\r'),
        'bare LF behind the request line': send(`GET ${list}`).replace('\r\n', '\n'),
        'bare CR behind the request line': send(`GET ${list}`).replace('\r\n', '\r'),
        'CR CR LF behind the request line': send(`GET ${list}`).replace('\r\n', '\r\r\n'),
        NULs: '\0'.repeat(100),
        'bytes of every value': String.fromCharCode(...Array.from({ length: 256 }, (_, i) => i)),
        'preface of HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
        'preface of HTTP/2 with a frame behind it': `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0`,
        'a TLS hello': '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
        'an SSH banner': 'SSH-2.0-OpenSSH_9.9\r\n',
        'a mail': 'EHLO a\r\nMAIL FROM:<a@a>\r\n',
        'a command for Redis': '*1\r\n$8\r\nFLUSHALL\r\n',
        'an HTTP answer': 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n',
        'the text header of a proxy': `PROXY TCP4 10.0.0.1 10.0.0.2 1 2\r\n${send(`GET ${list}`)}`,
        'the binary header of a proxy': `\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c${'\0'.repeat(12)}${send(`GET ${list}`)}`,
        'a byte order mark before the request': `\xef\xbb\xbf${send(`GET ${list}`)}`,
        'a request in UTF-16': [...send(`GET ${list}`)].map((letter) => `${letter}\0`).join(''),
        'an endless method': 'G'.repeat(20_000),
        'a smuggled request behind garbage': `\x01\r\n\r\n${smuggled}`,
        'a smuggled request behind an unknown method': send('FROB /') + smuggled,
      },
      400,
    ),
    ...rows(
      lines(
        ` GET ${list} HTTP/1.1`,
        `\tGET ${list} HTTP/1.1`,
        `GET  ${list} HTTP/1.1 x`,
        `GET ${list} x HTTP/1.1`,
        `GET\t${list}\tHTTP/1.1`,
        `GET\t${list} HTTP/1.1`,
        `GET ${list}\tHTTP/1.1`,
        `GET\x0b${list} HTTP/1.1`,
        `GET ${list}\x0cHTTP/1.1`,
        `GET\0 ${list} HTTP/1.1`,
        `G\0ET ${list} HTTP/1.1`,
        `GET\xa0${list} HTTP/1.1`,
        `G\xc9T ${list} HTTP/1.1`,
        `GET${list} HTTP/1.1`,
        `GET HTTP/1.1`,
        `GET`,
        `${list} HTTP/1.1`,
        `GET:${list} HTTP/1.1`,
        `GET, ${list} HTTP/1.1`,
        `"GET" ${list} HTTP/1.1`,
        `get ${list} HTTP/1.1`,
        `Get ${list} HTTP/1.1`,
        `GETX ${list} HTTP/1.1`,
        `FROB ${list} HTTP/1.1`,
        `-1 ${list} HTTP/1.1`,
        `__proto__ ${list} HTTP/1.1`,
        `constructor ${list} HTTP/1.1`,
        'CONNECT a:80 HTTP/1.1',
        `CONNECT ${victim} HTTP/1.1`,
      ),
      400,
    ),
    ...rows({ 'a smuggled request behind CONNECT': send('CONNECT a:80') + smuggled }, 400),
    // A server should treat HTTP/1.2 as 1.1 (RFC 9110 section 2.5), but no honest client sends it.
    ...rows(
      lines(
        ...[
          'HTTP/2.0',
          'HTTP/3.0',
          'HTTP/0.9',
          'HTTP/1.2',
          'HTTP/1.9',
          'HTTP/1.10',
          'HTTP/01.1',
          'HTTP/1.01',

          'HTTP/11',
          'HTTP/1',
          'HTTP/1.',
          'HTTP/.1',
          'HTTP/',
          'HTTP',
          'HTTP/x.y',
          'HTTP/-1.1',
          'HTTP/+1.1',

          'HTTP/1,1',
          'HTTP/ 1.1',
          'HTTP /1.1',
          'HTTP/1. 1',
          'HTTP/1.1x',
          'HTTP/1.1\0',
          'HTTP/1.1\t',
          'HTTP\\1.1',
          'http/1.1',
          'HTTPS/1.1',
          'ICE/1.0',
          'SIP/2.0',
          'HTTP/9999999999999999999999.1',
        ].map((version) => `GET /healthz ${version}`),
      ),
      400,
    ),
    ...rows(
      Object.fromEntries(
        ['TRACE', 'PROPFIND', 'PURGE', 'M-SEARCH', 'LINK', 'LOCK', 'SEARCH', 'REPORT', 'COPY'].map(
          (method) => [
            `${method} of a record`,
            send(`${method} ${victim}`, { Destination: '/x', 'Max-Forwards': '0' }),
          ],
        ),
      ),
      405,
    ),
    ...rows(
      Object.fromEntries(
        ['TRACE', 'PUT', 'PROPFIND', 'OPTIONS', 'DELETE'].map((method) => [
          `${method} without a valid credential`,
          send(`${method} ${victim}`, { Authorization: 'x' }),
        ]),
      ),
      403,
    ),
    ...rows({ 'methods of a record': send(`OPTIONS ${victim}`) }, 204),
    ...rows({ 'head of a record': send(`HEAD ${victim}`) }, 200),
    ...rows(
      { 'a smuggled request behind a head': send(`HEAD ${victim}`) + send('FROB /') + smuggled },
      200,
      400,
    ),
    ...cutRows(
      {
        'no version, like HTTP/0.9': `GET ${list}\r\n`,
        'cut within the method': 'DEL',
        'cut within the target': `DELETE ${victim}`,
        'cut within the version': `DELETE ${victim} HTTP/1`,
        'cut behind the request line': `DELETE ${victim} HTTP/1.1\r\n`,
        'cut within a header name': `DELETE ${victim} HTTP/1.1\r\nHost: a\r\nAuthori`,
        'cut within a header value': smuggled.slice(0, -10),
        'cut before the last empty line': smuggled.slice(0, -2),
        'cut within the last empty line': smuggled.slice(0, -1),
      },
      400,
    ),
  ]
}
