import { forgeTokens } from '../forged-tokens.ts'
import { deletion, list, nobody, sender, victim } from '../requests.ts'
import { type HostileRow, type Loot, prefixed, rows } from '../row.ts'

/** Tokens in `Authorization`: forged, ended, of the other kind, or in an unusual form. */
export function tokenRows({ bearer, cookie, endedBearer, endedCookie, user, client }: Loot): HostileRow[] {
  const token = bearer.slice('Bearer '.length)
  const tokenOf = (header: string) => header.slice(header.indexOf('=') + 1)
  const bearers = (tokens: Record<string, string>) =>
    Object.fromEntries(
      Object.entries(tokens).map(([name, text]) => [name, deletion({ Authorization: `Bearer ${text}` })]),
    )
  const headers = (...values: string[]) =>
    Object.fromEntries(values.map((value) => [value, deletion({ Authorization: value })]))
  const basic = (text: string) => `Basic ${btoa(text)}`

  return [
    ...rows(prefixed('access token: ', bearers(forgeTokens(token, 'session'))), 403),
    ...rows(prefixed('session as access token: ', bearers(forgeTokens(tokenOf(cookie), 'api'))), 403),
    ...rows(
      bearers({
        'a session': tokenOf(cookie),
        'an ended session': tokenOf(endedCookie),
        'an ended access token': tokenOf(endedBearer).slice('Bearer '.length),
      }),
      403,
    ),
    ...rows(
      headers(
        '',
        'Bearer',
        'Bearer ',
        'bearer',
        token,
        `Bearer${token}`,
        `Bearer\t${token}`,
        `Bearer: ${token}`,
        `Bearer=${token}`,

        `Token ${token}`,
        `JWT ${token}`,
        `MAC ${token}`,
        `DPoP ${token}`,
        `Bearer Bearer ${token}`,
        `Bearer ${token} x`,

        `Bearer ${token},`,
        `Bearer ${token}, Bearer ${token}`,
        `Bearer ${token},${token}`,
        `Bearer ${token};`,
        `Bearer "${token}"`,

        `Bearer '${token}'`,
        `Bearer <${token}>`,
        `Bearer token=${token}`,
        `Bearer token="${token}"`,
        `Basic x, Bearer ${token}`,

        `Bearer x, Bearer ${token}`,
        `Bearer ${token}%20`,
        `Bearer %${token}`,
        `"Bearer" ${token}`,
        `Bearer\xa0${token}`,

        `Bearer ${token}\xff`,
        `\xe2\x80\x8bBearer ${token}`,
        `XBearer ${token}`,

        'Bearer null',
        'Bearer undefined',
        'Bearer true',
        'Bearer 0',
        'Bearer [object Object]',
        'Bearer __proto__',
        'Bearer *',

        'Bearer admin',
        'Bearer ..',
        'Bearer ...',
        `Bearer ${'.'.repeat(10_000)}`,
        `Bearer ${'x'.repeat(15_000)}`,

        basic(`${user.username}:${user.password}`),
        basic(`${client.client_id}:${client.client_secret}`),
        basic(':'),

        'Basic',
        'Digest username="admin"',
        'Negotiate YII=',
        'NTLM TlRMTVNTUAAB',
        'AWS4-HMAC-SHA256 x',
        'OAuth x',
      ),
      403,
    ),
    ...rows(
      {
        'a bad token beside a good cookie': deletion({ Authorization: 'Bearer x', Cookie: cookie }),
        'an empty header beside a good cookie': deletion({ Authorization: '', Cookie: cookie }),
        'Basic beside a good cookie': deletion({
          Authorization: basic(`${user.username}:${user.password}`),
          Cookie: cookie,
        }),
        'a session beside its own cookie': deletion({
          Authorization: `Bearer ${tokenOf(cookie)}`,
          Cookie: cookie,
        }),
        'in Proxy-Authorization': deletion({ 'Proxy-Authorization': bearer }),
        'in X-Authorization': deletion({ 'X-Authorization': bearer, 'X-Access-Token': token }),
        'in X-Forwarded-Authorization': deletion({ 'X-Forwarded-Authorization': bearer }),
        'in a body': sender({ 'Content-Type': 'application/x-www-form-urlencoded' })(
          `DELETE ${victim}`,
          {},
          `access_token=${token}`,
        ),
        'in the protocol of a web socket': deletion({
          Upgrade: 'websocket',
          Connection: 'Upgrade',
          'Sec-WebSocket-Protocol': `bearer, ${token}`,
        }),
        'in a trailer':
          deletion({ 'Transfer-Encoding': 'chunked', Trailer: 'Authorization' }) +
          `0\r\nAuthorization: ${bearer}\r\n\r\n`,
        'ended by its owner, at the log-out': sender({ Authorization: endedBearer })('POST /logout'),
      },
      403,
    ),
    ...rows(
      {
        'a NUL within it': deletion({ Authorization: `Bearer ${token.slice(0, 9)}\0${token.slice(9)}` }),
        'a NUL behind it': deletion({ Authorization: `${bearer}\0` }),
        'a line end within it': deletion({
          Authorization: `Bearer ${token.slice(0, 9)}\r\n ${token.slice(9)}`,
        }),
        'two headers, both good': deletion({ Authorization: `${bearer}\r\nAuthorization: ${bearer}` }),
        'two headers, the first good': deletion({ Authorization: `${bearer}\r\nAuthorization: x` }),
        'two headers, the second good': deletion({ Authorization: `x\r\nauthorization: ${bearer}` }),
      },
      400,
    ),
    // RFC 9110 section 11.4 allows a scheme in any case, and more than one space.
    ...rows(
      Object.fromEntries(
        [`bearer ${token}`, `BEARER ${token}`, `bEaReR   ${token}`, ` Bearer ${token} \t`].map((value) => [
          `read with ${value}`,
          sender({ Authorization: value })(`GET ${list}`),
        ]),
      ),
      200,
    ),
    ...rows(
      {
        'beside a bad cookie it counts alone': sender({
          Authorization: bearer,
          Cookie: 'connbook_session=x',
        })(`GET ${list}`),
        'in HTTP/1.0': sender({ Authorization: bearer })(`GET ${list}`).replace('/1.1', '/1.0'),
      },
      200,
    ),
    ...rows({ 'for what is not there': sender({ Authorization: bearer })(`DELETE ${nobody}`) }, 404),
    ...rows(
      {
        'behind a no-break space': sender({ Authorization: `Bearer \xa0${token}` })(`GET ${list}`),
        'before a no-break space': sender({ Authorization: `Bearer ${token}\xa0` })(`GET ${list}`),
      },
      403,
    ),
  ]
}
