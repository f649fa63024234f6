import { deletion, idlePatch, list, nobody, sender, victim } from '../requests.ts'
import { type HostileRow, type Loot, rows } from '../row.ts'

/** Requests from a page of another site, with the cookie or, which is harmless, its own token. `Host` is `a`. */
export function crossSiteRows({ bearer, cookie }: Loot): HostileRow[] {
  const writes: Record<string, (fields: Record<string, string>) => string> = {
    'an add': (fields) =>
      sender(fields)(`POST ${list}`, {}, '{"name":"x","hostname":"h","port":1,"username":"u"}'),
    'a modification': (fields) => sender(fields)(`PATCH ${victim}`, {}, '{"port":2}'),
    'a deletion': deletion,
    'a log-out': (fields) => sender(fields)('POST /logout'),
    'an unknown path': (fields) => sender(fields)('POST /unknown'),
    'a replacement': (fields) =>
      sender(fields)(`PUT ${victim}`, {}, '{"hostname":"h","port":2,"username":"u"}'),
    'a refused method': (fields) => sender(fields)(`PUT ${list}`),
  }
  const signs: Record<string, string>[] = [
    ...[
      'cross-site',
      'same-site',
      'Cross-Site',
      '',
      'x',
      'same-origin, cross-site',
      'cross-site, same-origin',
      'none;q=1',
      '"none"',
    ].map((site) => ({ 'Sec-Fetch-Site': site })),
    ...[
      'null',
      'http://evil',
      'http://evil.a',
      'http://a.evil',
      'http://a.',
      'http://a:81',
      'https://a:80',
      'http://aa',
      'evil',
      '',

      'a',
      '//a',
      'http:',
      'http://',
      'http:///',
      'file:///a',
      'data:,a',
      'javascript:a',
      'about:blank',
      'http://a@evil',

      'http://evil#a',
      'http://evil?a',
      'http://evil/a',
      'http://evil\\@a',
      'http://evil, http://a',
      'http://a http://evil',

      'http://[::1]',
      'http://127.0.0.1',
      'http://localhost',
      'http://а',
      'http://a%2eevil',
      'http://a%00.evil',
    ].map((origin) => ({ Origin: Buffer.from(origin).toString('latin1') })),
    { 'Sec-Fetch-Site': 'cross-site', Origin: 'http://a' },
    { 'Sec-Fetch-Site': 'same-site', Origin: 'http://a' },
    { 'Sec-Fetch-Site': 'none', Origin: 'null' },
    { Origin: 'http://evil', 'X-Forwarded-Host': 'evil' },
    { Origin: 'http://evil', Forwarded: 'host=evil' },
    { Origin: 'http://evil', 'X-Original-Host': 'evil', 'X-Host': 'evil' },
    { Origin: 'http://evil', Referer: 'http://a/' },
    { Origin: 'http://evil', 'X-Requested-With': 'XMLHttpRequest' },
    { Origin: 'http://evil', 'Content-Type': 'text/plain' },
    { Origin: 'http://evil', 'Content-Type': 'application/x-www-form-urlencoded' },
    { Origin: 'http://evil', 'X-HTTP-Method-Override': 'GET' },
  ]
  const describe = (fields: Record<string, string>) =>
    Object.entries(fields)
      .map(([name, value]) => `${name}: ${value}`)
      .join(', ')
  const each = (toBytes: (fields: Record<string, string>) => string, what: string, chosen = signs) =>
    Object.fromEntries(chosen.map((fields) => [`${what}, ${describe(fields)}`, toBytes(fields)]))
  const [deletionName, ...otherNames] = [
    'a deletion',
    'an add',
    'a modification',
    'a log-out',
    'an unknown path',
    'a refused method',
  ]
  const few = signs.filter((_, i) => i % 9 === 0)
  const withCookie = sender({ Cookie: cookie })

  return [
    ...rows(
      each((fields) => deletion({ Cookie: cookie, ...fields }), deletionName ?? ''),
      403,
    ),
    ...otherNames.flatMap((what) =>
      rows(
        each((fields) => writes[what]?.({ Cookie: cookie, ...fields }) ?? '', what, few),
        403,
      ),
    ),
    ...rows(
      {
        'no Host to compare with': deletion({ Cookie: cookie, Origin: 'http://a' })
          .replace('Host: a\r\n', '')
          .replace('HTTP/1.1', 'HTTP/1.0'),
        'an empty Host': deletion({ Host: '', Cookie: cookie, Origin: 'http://a' }),
      },
      403,
    ),
    ...rows(
      {
        'two Origins': deletion({ Cookie: cookie, Origin: 'http://a\r\nOrigin: http://evil' }),
        'two Sec-Fetch-Site': deletion({
          Cookie: cookie,
          'Sec-Fetch-Site': 'same-origin\r\nSec-Fetch-Site: cross-site',
        }),
        'an Origin with a NUL': deletion({ Cookie: cookie, Origin: 'http://a\0' }),
      },
      400,
    ),
    ...rows(
      {
        'a preflight without the cookie': sender({
          Origin: 'http://evil',
          'Access-Control-Request-Method': 'DELETE',
        })(`OPTIONS ${victim}`),
      },
      403,
    ),
    ...rows(
      {
        'a preflight with the cookie': withCookie(`OPTIONS ${victim}`, {
          Origin: 'http://evil',
          'Access-Control-Request-Method': 'DELETE',
          'Access-Control-Request-Headers': 'authorization',
        }),
      },
      204,
    ),
    // A page cannot see the answer to a read, because no answer has CORS headers.
    ...rows(
      each((fields) => sender({ Cookie: cookie, ...fields })(`GET ${list}`), 'a read', few),
      200,
    ),
    ...rows(
      each((fields) => sender({ Cookie: cookie, ...fields })(`PATCH ${victim}`, {}, idlePatch), 'allowed', [
        {},
        { 'Sec-Fetch-Site': 'same-origin' },
        { 'Sec-Fetch-Site': 'none' },
        { Origin: 'http://a' },
        { Origin: 'http://A' },
        { Origin: 'http://a:80' },
        // TLS may end at a proxy, and 443 is the default port of `https`.
        { Origin: 'https://a' },
        { Origin: 'http://a', 'Sec-Fetch-Site': 'same-origin' },
        // A proxy may send another Host; no page can set this.
        { Origin: 'https://book.example', 'Sec-Fetch-Site': 'same-origin' },
      ]),
      200,
    ),
    ...rows(
      each(
        (fields) => deletion({ Authorization: 'Bearer x', Cookie: cookie, ...fields }),
        'a bad token',
        few,
      ),
      403,
    ),
    ...rows(
      each(
        (fields) => sender({ Authorization: bearer, ...fields })(`PATCH ${victim}`, {}, idlePatch),
        'with a token',
        signs,
      ),
      200,
    ),
    ...rows(
      each(
        (fields) => sender({ Authorization: bearer, Cookie: cookie, ...fields })(`DELETE ${nobody}`),
        'with a token and the cookie',
        few,
      ),
      404,
    ),
    ...rows(
      each(
        (fields) => sender({ Cookie: cookie, ...fields })(`DELETE ${nobody}`),
        'a deletion of nothing',
        [
          'http://a\\.evil',
          'http://a/',
          'http:a',
          ' http://a\\',
          'chrome-extension://a',
          'ftp://a',
          'x://a',
        ].map((origin) => ({
          Origin: origin,
        })),
      ),
      403,
    ),
    ...rows(
      {
        'no Host, and an Origin by the name of nothing': sender({
          Cookie: cookie,
          Origin: 'http://undefined',
        })(`DELETE ${nobody}`)
          .replace('Host: a\r\n', '')
          .replace('HTTP/1.1', 'HTTP/1.0'),
      },
      403,
    ),
  ]
}
