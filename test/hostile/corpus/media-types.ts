import { gzipSync } from 'node:zlib'
import { idlePatch, list, sender, victim } from '../requests.ts'
import { entriesFrom, type HostileRow, type Loot, rows } from '../row.ts'

/** Media types and content codings, true and false ones. */
export function mediaTypeRows({ bearer }: Loot): HostileRow[] {
  const send = sender({ Authorization: bearer })
  const typed = (type: string, body = idlePatch) => send(`PATCH ${victim}`, { 'Content-Type': type }, body)
  const types = (...names: string[]) => entriesFrom(names, (name) => typed(name))
  const encodings = (...names: string[]) =>
    entriesFrom(
      names,
      (name) => send(`PATCH ${victim}`, { 'Content-Encoding': name }, idlePatch),
      'encoding ',
    )
  /** 50 MiB of spaces around a patch: small enough to be sent. */
  const bomb = gzipSync(Buffer.alloc(50 * 1024 * 1024, ' ')).toString('latin1')

  return [
    ...rows(
      types(
        'text/xml',
        'text/html',
        'text/json',
        'text/*',
        '*/*',
        'image/png',
        'image/svg+xml',
        'application/*',
        'application/xml',
        'application/octet-stream',
        'application/javascript',
        'application/jsonp',
        'application/json-seq',
        'application/x-ndjson',
        'application/x+json+xml',
        'application/json/x',
        'application/json x',
        'application/json, text/plain',
        'text/xml, application/json',
        'application /json',
        'application/ json',
        'application\\json',
        'application/json\x80',
        '\xefapplication/json',
        '"application/json"',
        'multipart/form-data',
        'multipart/form-data; boundary=----x',
        'message/http',
        'application/x-java-serialized-object',
        'application/yaml',
        'a',
        '/',
        '/json',
        'application/',
        'json',
        '+json',
        '/+json',
        'a/b+JSON+x',
        'constructor',
        '__proto__',
        'null',
        ';',
        ';charset=utf-8',
        `a/${'b'.repeat(8_000)}`,
        'a;'.repeat(4_000),
        'application/json; charset=utf-7',
        'application/json; charset=utf-16',
        'application/json; charset=utf-16le',
        'application/json; charset=utf-32',
        'application/json; charset=iso-8859-1',
        'application/json; charset=us-ascii',
        'application/json; charset=ebcdic-cp-us',
        'application/json; charset=__proto__',
        'application/json; charset=""',
        'application/json; charset=utf-8x',
        'application/json; charset="utf-8, utf-7"',
        'application/json; charset=',
        'application/json;CHARSET=UTF-7',
        'text/plain; charset=utf-7',
        'application/x-www-form-urlencoded; charset=utf-7',
        'application/json; charset=utf-7; charset=utf-8',
      ),
      415,
    ),
    ...rows(
      types(
        'application/json',
        'APPLICATION/JSON',
        'application/json;',
        'application/json;;;',
        'application/json ; charset=utf-8',
        'application/json;charset="UTF-8"',
        'application/json; charset=utf8; x=y',
        'application/json; boundary=x',
        'application/vnd.x.y+json',
        'application/merge-patch+json',
        '__proto__/x+json',
        'text/plain',
        'application/x-www-form-urlencoded',
        '',
        ' \t ',
      ),
      200,
    ),
    // No standard says which of two parameters with the same name counts.
    ...rows(types('application/json; charset=utf-8; charset=utf-7'), [200, 415]),
    ...rows(
      {
        'a form': typed('application/x-www-form-urlencoded', 'port=1'),
        'a form that begins like JSON': typed('application/x-www-form-urlencoded', '{"port":1'),
        'plain text': typed('text/plain', 'port: 1'),
        'a form with parts': typed('multipart/form-data; boundary=x', '--x\r\n\r\n{"port":1}\r\n--x--\r\n'),
        'no type at all, and no JSON': send(`PATCH ${victim}`, {}, '<port>1</port>'),
        'YAML without a type': send(`PATCH ${victim}`, {}, 'port: 1'),
      },
      415,
    ),
    ...rows(
      {
        'JSON that is a form': typed('application/json', 'port=1'),
        'JSON that is XML': typed('application/json', '<port>1</port>'),
        'UTF-7 that is said to be UTF-8': typed('application/json', '{+ACI-port+ACI-:1}'),
      },
      400,
    ),
    ...rows(
      {
        'a gzip bomb': send(`PATCH ${victim}`, { 'Content-Encoding': 'gzip' }, bomb),
        'gzip that is cut': send(`PATCH ${victim}`, { 'Content-Encoding': 'gzip' }, '\x1f\x8b\x08'),
        '500 codings': send(`PATCH ${victim}`, { 'Content-Encoding': 'gzip, '.repeat(500) }, idlePatch),
        ...encodings(
          'deflate',
          'br',
          'zstd',
          'compress',
          'x-gzip',
          'gzip, gzip',
          'identity, gzip',
          'gzip, identity',
          '__proto__',
          '"identity"',
          'identity;q=1',
          'chunked',
          'aes128gcm',
          '*',
          'identityx',
        ),
      },
      415,
    ),
    ...rows(encodings('identity', 'IDENTITY'), 200),
    ...rows({ 'a gzip bomb without its name': send(`PATCH ${victim}`, {}, bomb) }, 400),
    ...rows(
      {
        'a bomb on the way to the tokens': send('POST /v1/auth/token', { 'Content-Encoding': 'gzip' }, bomb),
      },
      415,
    ),
    ...rows(
      { 'a type that a read does not look at': send(`GET ${list}`, { 'Content-Type': 'a\xff' }, '\0') },
      200,
    ),
    ...rows(types('application/json\xa0', '\xa0application/json', '\xa0'), 415),
  ]
}
