import { formatRequest } from '../support/raw-http.ts'
import { forgeTokens } from './forged-tokens.ts'

/** A request that means no good. */
export interface HostileRequest {
  readonly name: string
  /** In Latin-1: a character is a byte. */
  readonly bytes: string
  /** Statuses that an answer may have; there may also be none when this is empty. */
  readonly allowed: readonly number[]
}

/** What an attacker with an account of his own has in hand. */
export interface Loot {
  /** A valid `Authorization` header. */
  readonly bearer: string
  /** A valid `Cookie` header. */
  readonly cookie: string
}

type Headers = Readonly<Record<string, string>>

const list = '/configurations/'
const victim = `${list}victim`
const bad = [400]
const stranger = [403]

/** Every row; the record `victim` must outlive them all. */
export function hostileRequests({ bearer, cookie }: Loot): HostileRequest[] {
  const auth = { Authorization: bearer }
  const signed = (line: string, headers: Headers = {}, body?: string) =>
    formatRequest(line, { ...auth, ...headers }, body)
  const rows = (
    group: string,
    entries: Record<string, string>,
    allowed: readonly number[],
  ): HostileRequest[] =>
    Object.entries(entries).map(([name, bytes]) => ({ name: `${group}: ${shorten(name)}`, bytes, allowed }))
  const versions = (...names: string[]) =>
    Object.fromEntries(names.map((name) => [name, signed('GET /healthz').replace('HTTP/1.1', name)]))
  const heads = (...lines: string[]) =>
    Object.fromEntries(
      lines.map((line) => [
        line,
        `GET ${list} HTTP/1.1\r\nHost: a\r\nAuthorization: ${bearer}\r\n${line}\r\n\r\n`,
      ]),
    )
  const targets = (...paths: string[]) =>
    Object.fromEntries(paths.map((path) => [path, signed(`GET ${path}`)]))
  const posts = (...bodies: string[]) =>
    Object.fromEntries(bodies.map((body) => [body, signed(`POST ${list}`, {}, body)]))
  const types = (...names: string[]) =>
    Object.fromEntries(
      names.map((name) => [name, signed(`PATCH ${victim}`, { 'Content-Type': name }, '{"port":2}')]),
    )
  const record = (member: string) => `{"name":"n","hostname":"h","port":1,"username":"u",${member}}`
  const tokens = (group: string, forged: Record<string, string>) =>
    rows(
      group,
      Object.fromEntries(
        Object.entries(forged).map(([name, token]) => [name, deletion({ Authorization: `Bearer ${token}` })]),
      ),
      stranger,
    )

  const good = record('"id":0')

  /** A smuggled request hides where only one of two readers finds it. */
  const smuggled = deletion(auth)
  const framed = (fields: string, body = `0\r\n\r\n${smuggled}`) =>
    `POST ${list} HTTP/1.1\r\nHost: a\r\nAuthorization: ${bearer}\r\n${fields}\r\n\r\n${body}`
  const framings = (...fields: string[]) => Object.fromEntries(fields.map((field) => [field, framed(field)]))

  return [
    ...rows(
      'request line',
      {
        empty: '\r\n\r\n\r\n',
        spaces: `GET ${list} x HTTP/1.1\r\nHost: a\r\n\r\n`,
        tab: `GET\t${list}\tHTTP/1.1\r\nHost: a\r\n\r\n`,
        'no target': 'GET HTTP/1.1\r\nHost: a\r\n\r\n',
        'no method': `${list} HTTP/1.1\r\nHost: a\r\n\r\n`,
        'unknown method': signed(`FROB ${list}`),
        'method in small letters': signed(`get ${list}`),
        'endless method': 'G'.repeat(20_000),
        'HTTP/0.9': `GET ${list}\r\n`,
        'HTTP/0.9 with headers': `GET ${list}\r\nHost: a\r\n\r\n`,
        'preface of HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
        TLS: '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
        'bare LF': signed(`GET ${list}`).replaceAll('\r\n', '\n'),
        'bare CR': signed(`GET ${list}`).replaceAll('\r\n', '\r'),
        NULs: '\0'.repeat(100),
        CONNECT: signed('CONNECT a:80'),
      },
      [400, 431],
    ),
    ...rows(
      'version',
      versions(
        'HTTP/2.0',
        'HTTP/0.9',
        'HTTP/1.2',
        'HTTP/1.10',
        'HTTP/11',
        'HTTP/1',
        'HTTP/x.y',
        'http/1.1',
        'HTTPS/1.1',
        'ICE/1.0',
      ),
      bad,
    ),
    ...rows(
      'target',
      targets(
        '*',
        'a',
        `http://a${list}`,
        `HTTP://a${list}`,
        `//a${list}`,
        `//${list}`,
        'a:80',
        `${list}#a`,
        '/\x00',
        '/\x7f',
        '/é',
        '?',
        '#',
      ),
      bad,
    ),
    ...rows(
      'path',
      targets(
        `${list}%`,
        `${list}%4`,
        `${list}%zz`,
        `${list}%u0041`,
        `${list}%ff`,
        `${list}%c0%af`,
        `${list}%ed%a0%80`,
        `${list}%f8%88%80%80%80`,
        '/%/..',
      ),
      bad,
    ),
    ...rows(
      'path',
      targets(
        '/../../etc/passwd',
        `${list}../victim`,
        `${list}%2e%2e%2f`,
        `${list}..%5cvictim`,
        `${list}%00`,
        `${list}victim%00`,
        `${list}victim;a=b`,
        `${list}victim/`,
        '/configurations//victim',
        '/CONFIGURATIONS/victim',
        `${list}%252e%252e`,
        '/.git/config',
        `/${'a/'.repeat(4000)}`,
        `${list}__proto__`,
        `${list}constructor`,
        '/__proto__',
        `${list}victim%20`,
      ),
      [404],
    ),
    ...rows(
      'query',
      targets(
        `${list}?page=-1&per_page=1`,
        `${list}?page=1e9&per_page=1`,
        `${list}?page=0&per_page=999999999`,
        `${list}?page=NaN&per_page=Infinity`,
        `${list}?sort=constructor`,
        `${list}?sort=__proto__`,
        `${list}?sort=id;drop`,
        `${list}?sort[]=name`,
        `${list}?sort=name&sort=port`,
        `${list}?%ff`,
        `${list}?${'a&'.repeat(5000)}`,
        `${list}?__proto__[x]=1`,
        `${list}?page=0&per_page=1%00`,
      ),
      bad,
    ),
    ...rows(
      'headers',
      heads(
        'Host: b',
        'X y: 1',
        'X : 1',
        ': 1',
        'X',
        ' X: 1',
        'X: 1\r\n folded',
        'X: a\0b',
        'X: a\rb',
        'X: a\nHost: b',
        'X\x80: 1',
        '(x): 1',
        `Authorization: ${bearer}`,
        'Content-Type: a/b\r\nContent-Type: c/d',
        'Origin: a\r\nOrigin: b',
        'Transfer-Encoding: gzip',
        'Content-Length: 0\r\nContent-Length: 0',
      ),
      bad,
    ),
    ...rows(
      'headers',
      {
        'no Host': `GET /healthz HTTP/1.1\r\n\r\n`,
        'Host with a path': signed('GET /healthz', { Host: 'a/b' }),
        'Host with a user': signed('GET /healthz', { Host: 'u@a' }),
        'Host with a space': signed('GET /healthz', { Host: 'a b' }),
        'Host of other bytes': signed('GET /healthz', { Host: 'é' }),
      },
      bad,
    ),
    ...rows(
      'headers',
      {
        'too long': signed(`GET ${list}`, { X: 'x'.repeat(17_000) }),
        'too many': `GET ${list} HTTP/1.1\r\nHost: a\r\n${'X: 1\r\n'.repeat(10_000)}\r\n`,
      },
      [431],
    ),
    ...rows(
      'headers',
      heads('__proto__: x', 'constructor: x', 'X-HTTP-Method-Override: DELETE', `X-Original-URL: ${victim}`),
      [200],
    ),
    ...rows(
      'framing',
      framings(
        'Content-Length: 5\r\nTransfer-Encoding: chunked',
        'Transfer-Encoding: chunked\r\nContent-Length: 5',
        'Content-Length: 5\r\nContent-Length: 6',
        'Content-Length: 5, 5',
        'Content-Length: +5',
        'Content-Length: -1',
        'Content-Length: 0x5',
        'Content-Length: 5 5',
        'Content-Length: five',
        'Content-Length:',
        'Content-Length: 99999999999999999999999',
        'Transfer-Encoding: xchunked',
        'Transfer-Encoding: chunked, identity',
        'Transfer-Encoding: gzip, chunked',
        'Transfer-Encoding: chunked, chunked',
        'Transfer-Encoding: identity',
        'Transfer-Encoding:',
        'Transfer-Encoding: "chunked"',
        'Transfer-Encoding : chunked',
        'Transfer-Encoding:\x0bchunked',
        'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity',
        'Transfer-Encoding: identity\r\nTransfer-Encoding: chunked',
        'X: y\nTransfer-Encoding: chunked',
        'X: y\r\n Transfer-Encoding: chunked',
        'Transfer-Encoding: chunkedx',
        'Transfer-Encoding: chunked;q=1',
      ),
      bad,
    ),
    ...rows(
      'framing',
      {
        'chunked in HTTP/1.0': framed(
          'Transfer-Encoding: chunked',
          `${good.length.toString(16)}\r\n${good}\r\n0\r\n\r\n`,
        ).replace('HTTP/1.1', 'HTTP/1.0'),
        'chunk length with a sign': framed('Transfer-Encoding: chunked', '+2\r\n{}\r\n0\r\n\r\n'),
        'chunk length in 0x': framed('Transfer-Encoding: chunked', '0x2\r\n{}\r\n0\r\n\r\n'),
        'chunk length beyond all bounds': framed(
          'Transfer-Encoding: chunked',
          `${'f'.repeat(17)}\r\n{}\r\n0\r\n\r\n`,
        ),
        'chunk longer than said': framed('Transfer-Encoding: chunked', '1\r\n{}\r\n0\r\n\r\n'),
        'chunk with bare LF': framed('Transfer-Encoding: chunked', '2\n{}\n0\n\n'),
        'chunk extension with bare LF': framed('Transfer-Encoding: chunked', `2;\n${'x'}\r\n{}\r\n0\r\n\r\n`),
        'a body that was left out': framed('Content-Length: 5', ''),
      },
      bad,
    ),
    ...rows(
      'framing',
      {
        'length of a stranger': deletion({ 'Content-Length': '10' }),
        'a chunk too long': framed(
          'Transfer-Encoding: chunked',
          `${(70_000).toString(16)}\r\n${'x'.repeat(70_000)}\r\n0\r\n\r\n`,
        ),
        'a length too long': framed('Content-Length: 9007199254740993', smuggled),
      },
      [403, 413],
    ),
    ...rows(
      'media type',
      types(
        'text/xml',
        'image/png',
        'application/json; charset=utf-7',
        'application/json\x80',
        'a',
        `a/${'b'.repeat(8000)}`,
        `${'a;'.repeat(4000)}`,
        'multipart/form-data',
      ),
      [415],
    ),
    ...rows(
      'media type',
      {
        gzip: signed(`POST ${list}`, { 'Content-Encoding': 'gzip' }, '\x1f\x8b\x08'),
        many: signed(`POST ${list}`, { 'Content-Encoding': 'gzip, '.repeat(500) }, '{}'),
      },
      [415],
    ),
    ...rows(
      'bytes',
      Object.fromEntries(
        ['\xff', '\xc0\x80', '\xed\xa0\x80', '\xf4\x90\x80\x80', '\xe2\x82', '\x00'].map((text) => [
          JSON.stringify(text),
          signed(`POST ${list}`, {}, record(`"username":"${text}"`)),
        ]),
      ),
      [400, 415],
    ),
    ...rows(
      'JSON',
      posts(
        'null',
        '[]',
        '0',
        '""',
        '{}',
        record('"__proto__":{"port":1}'),
        record('"constructor":{}'),
        record('"port":1e999'),
        record('"port":-0'),
        record('"port":1.5'),
        record('"port":"1"'),
        record('"port":[1]'),
        record('"port":9007199254740993'),
        record('"name":"\\ud800"'),
        record('"name":"\\udc00\\ud800"'),
        record('"name":null'),
        record('"name":{}'),
        record('"name":["n"]'),
        record('"toString":1'),
        `{"a":${'['.repeat(30_000)}${']'.repeat(30_000)}}`,
        `{${Array.from({ length: 6000 }, (_, i) => `"${i}":0`).join()}}`,
      ),
      bad,
    ),
    ...rows(
      'JSON',
      posts(
        '{',
        '{"name":"n"',
        '{name:"n"}',
        '{"name":\'n\'}',
        '[['.repeat(20_000),
        '\ufffe{}'.replace('\ufffe', '\xff\xfe'),
        '{"a":1}}',
        'undefined',
        '<script>',
      ),
      [400, 415],
    ),
    ...rows(
      'limits',
      posts(
        record(`"name":"${'x'.repeat(256)}"`),
        record('"name":"."'),
        record('"name":".."'),
        record('"name":"a\\u0000"'),
        record('"name":"\\u009f"'),
        record(`"username":"${'x'.repeat(256)}"`),
        record('"hostname":"a b"'),
        record('"hostname":"a\\nHost b"'),
        record('"hostname":"-a"'),
        record('"hostname":"a..b"'),
        record('"hostname":"[::1"'),
        record('"hostname":"::1%"'),
        record('"hostname":"1.2.3.4.5"'),
        record('"hostname":"999.1.1.1"'),
        record(`"hostname":"${'a'.repeat(64)}"`),
        record(`"hostname":"${'a.'.repeat(127)}"`),
        record('"hostname":"http://a/"'),
        record('"hostname":"a:22"'),
        record('"port":0'),
        record('"port":65536'),
      ),
      bad,
    ),
    ...rows(
      'limits',
      posts(
        record(`"name":"${'y'.repeat(255)}"`),
        record('"name":"__proto__"'),
        record('"port":65535,"name":"top"'),
        record('"name":"id","id":-1'),
      ),
      [200],
    ),
    ...tokens('bearer', forgeTokens(bearer.replace('Bearer ', ''))),
    ...tokens('session as bearer', { 'as it is': cookie.slice(cookie.indexOf('=') + 1) }),
    ...rows(
      'cookie',
      {
        'access token': deletion({ Cookie: `connbook_session=${bearer.replace('Bearer ', '')}` }),
        'bad before good': deletion({ Cookie: `connbook_session=x; ${cookie}` }),
        'bad before good in two fields': deletion({ Cookie: `connbook_session=\r\nCookie: ${cookie}` }),
        'in quotes': deletion({ Cookie: cookie.replace('=', '="').concat('"') }),
        'with another name': deletion({ Cookie: `x${cookie}` }),
        'with its name in capitals': deletion({ Cookie: cookie.replace('connbook', 'CONNBOOK') }),
        'cut short': deletion({ Cookie: cookie.slice(0, -1) }),
        'from another site': deletion({ Cookie: cookie, Origin: 'http://evil' }),
        'from a sandbox': deletion({ Cookie: cookie, Origin: 'null' }),
        'from another site, says the browser': deletion({ Cookie: cookie, 'Sec-Fetch-Site': 'cross-site' }),
      },
      stranger,
    ),
    ...rows(
      'login',
      Object.fromEntries(
        [
          '{"username":{"$ne":null},"password":{"$ne":null}}',
          '{"username":["admin"],"password":"x"}',
          '{"username":"admin","password":true}',
          '{"__proto__":{"username":"admin","password":"x"}}',
        ].map((body) => [body, formatRequest('POST /login', {}, body)]),
      ),
      bad,
    ),
    ...rows(
      'login',
      {
        'a long password': formatRequest(
          'POST /login',
          {},
          JSON.stringify({ username: 'a', password: 'x'.repeat(60_000) }),
        ),
        'a member of every object': formatRequest(
          'POST /login',
          {},
          '{"username":"__proto__","password":"x"}',
        ),
      },
      [401],
    ),
  ]
}

function deletion(headers: Headers): string {
  return formatRequest(`DELETE ${victim}`, headers)
}

/** Short enough for one line, and still told from others like it. */
function shorten(text: string): string {
  const shown = JSON.stringify(text).slice(1, -1)
  return shown.length <= 80 ? shown : `${shown.slice(0, 40)}…${shown.slice(-30)} (${text.length})`
}
