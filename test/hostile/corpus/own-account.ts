import { sender, utf8 } from '../requests.ts'
import { entriesFrom, type HostileRow, type Loot, prefixed, rows } from '../row.ts'

const path = '/v1/password'

/** Requests to `/v1/password`, `/v1/auth/revoke` and `/v1/whoami`. None guesses at the known user. */
export function ownAccountRows({
  bearer,
  cookie,
  endedBearer,
  endedCookie,
  user,
  client,
}: Loot): HostileRow[] {
  const send = sender({ Cookie: cookie, 'Content-Type': 'application/json' })
  const bodies = (...texts: string[]) => entriesFrom(texts, (text) => send(`POST ${path}`, {}, utf8(text)))
  const change = JSON.stringify({ password: user.password, new_password: 'a new password' })
  const changed = (members: string) => `{"password":${JSON.stringify(user.password)}${members}}`
  const as = (fields: Record<string, string>) => sender(fields)(`POST ${path}`, {}, change)
  const revoke = (body: unknown) =>
    sender({ 'Content-Type': 'application/json' })('POST /v1/auth/revoke', {}, utf8(JSON.stringify(body)))
  const tokens = (...texts: string[]) =>
    prefixed(
      'revoke ',
      entriesFrom(texts, (token) => revoke({ ...client, token })),
    )

  return [
    ...rows(
      bodies(
        '{}',
        'null',
        '[]',
        `[${change}]`,
        '{',
        changed(''),
        changed(',"new_password":null'),
        changed(',"new_password":["a new password"]'),
        changed(',"new_password":{"length":99}'),
        changed(',"new_password":12345678'),
        changed(',"new_password":""'),
        changed(',"new_password":"short"'),
        changed(',"new_password":"a new password","new_password":1'),
        changed(',"new_password":"two\\nlines of it"'),
        changed(',"new_password":"a lone \\ud800 surrogate"'),
        changed(`,"new_password":"${'x'.repeat(1_025)}"`),
        changed(`,"new_password":"${'😀'.repeat(257)}"`),
        changed(',"newPassword":"a new password"'),
        '{"new_password":"a new password"}',
        '{"password":null,"new_password":"a new password"}',
        '{"password":true,"new_password":"a new password"}',
        '{"__proto__":{"password":"x","new_password":"a new password"}}',
      ),
      400,
    ),
    ...rows(
      {
        'a new password without a credential': as({}),
        'a new password with a token': as({ Authorization: bearer }),
        'a new password with a token and the cookie': as({ Authorization: bearer, Cookie: cookie }),
        'a new password with an ended token': as({ Authorization: endedBearer, Cookie: cookie }),
        'a new password with an ended session': as({ Cookie: endedCookie }),
        'a new password from another site': as({ Cookie: cookie, 'Sec-Fetch-Site': 'cross-site' }),
        'a new password from another origin': as({ Cookie: cookie, Origin: 'null' }),
        'who am I, without a credential': sender({})('GET /v1/whoami'),
        'who am I, with an ended session': sender({ Cookie: endedCookie })('GET /v1/whoami'),
      },
      403,
    ),
    ...rows({ 'a new password by PUT': send(`PUT ${path}`, {}, change) }, 405),
    ...rows({ 'a new password as XML': send(`POST ${path}`, { 'Content-Type': 'text/xml' }, '<a/>') }, 415),
    ...rows(
      tokens(
        'x',
        '.',
        '..',
        'a.b.c',
        '\u0000',
        '__proto__',
        '../../etc/passwd',
        'x'.repeat(60_000),
        '.'.repeat(60_000),
        endedBearer.slice('Bearer '.length),
        `${bearer.slice('Bearer '.length)}x`,
        cookie.slice(cookie.indexOf('=') + 1),
      ),
      200,
    ),
    ...rows(
      {
        'revoke nothing': revoke(client),
        'revoke null': revoke({ ...client, token: null }),
        'revoke a list': revoke({ ...client, token: ['x'] }),
        'revoke an empty token': revoke({ ...client, token: '' }),
        'revoke without a client': revoke({ token: 'x' }),
        'revoke with the token alone': sender({ Authorization: bearer })(
          'POST /v1/auth/revoke',
          {},
          '{"token":"x"}',
        ),
      },
      400,
    ),
    ...rows(
      { 'revoke as an unknown client': revoke({ client_id: 'x', client_secret: 'x', token: 'x' }) },
      401,
    ),
  ]
}
