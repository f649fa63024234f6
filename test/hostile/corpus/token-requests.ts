import { sender, utf8 } from '../requests.ts'
import { entriesFrom, type HostileRow, type Loot, rows } from '../row.ts'

const form = { 'Content-Type': 'application/x-www-form-urlencoded' }
const json = { 'Content-Type': 'application/json' }

/**
 * Requests to `/v1/auth/token`. Guesses at the known client stay below the number that starts a pause: each success
 * among the rows resets the count of failures.
 */
export function tokenRequestRows({ bearer, cookie, user, client }: Loot): HostileRow[] {
  const send = (fields: Record<string, string>, body = '') =>
    sender(fields)('POST /v1/auth/token', {}, utf8(body))
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  const good = base64(`${client.client_id}:${client.client_secret}`)
  const secret = encodeURIComponent(client.client_secret)
  const forms = (...bodies: string[]) => entriesFrom(bodies, (body) => send(form, body), 'form ')
  const documents = (...bodies: string[]) => entriesFrom(bodies, (body) => send(json, body), 'JSON ')
  const basics = (...values: string[]) =>
    entriesFrom(values, (value) => send({ Authorization: value }), 'Authorization: ')
  const both = `client_id=${client.client_id}&client_secret=${secret}`
  const credentials = JSON.stringify(client).slice(1, -1)

  const guess = (guessed: string) =>
    send(json, JSON.stringify({ client_id: client.client_id, client_secret: guessed }))

  return [
    ...rows(
      forms(
        '&',
        '=',
        'client_id',
        'client_id=default',
        'client_secret=x',
        'client_id=&client_secret=x',
        'client_id=default&client_secret=',
        `client_id=a&${both}`,
        `${both}&client_id=default`,
        `${both}&client_secret=${secret}`,
        `${both}&client%5Fsecret=${secret}`,
        `${both}&x=1&x=2`,
        `${both}&x=1&%78=2`,
        `${both}&__proto__=1&__proto__=2`,
        `${both}&grant_type=client_credentials&grant_type=password`,
        'client_id[]=default&client_secret[]=x',
        'client_id[$ne]=x&client_secret[$ne]=x',
        'client_id=%&client_secret=x',
        'client_id=%ff&client_secret=x',
        'client_id=x&client_secret=%c0%af',
        'client_id=x&client_secret=%ed%a0%80',
        'client_id=x;client_secret=y',
        'Client_Id=x&Client_Secret=y',
        ' {}',
        '<x/>',
      ),
      400,
    ),
    ...rows(
      forms(
        `${both}&grant_type=password&username=admin&password=x`,
        `${both}&grant_type=authorization_code&code=x`,
        `${both}&grant_type=refresh_token&refresh_token=x`,
        `${both}&grant_type=implicit`,
        `${both}&grant_type=CLIENT_CREDENTIALS`,
        `${both}&grant_type=client_credentials+`,
        `${both}&grant_type=client_credentials%00`,
        `${both}&grant_type=__proto__`,
        `${both}&grant_type=urn:ietf:params:oauth:grant-type:jwt-bearer&assertion=..`,
        `${both}&grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange`,
      ),
      400,
    ),
    ...rows(
      documents(
        '{}',
        'null',
        '[]',
        '"x"',
        '{',
        '{"client_id":"default"}',
        '{"client_secret":"x"}',
        '{"client_id":null,"client_secret":"x"}',
        '{"client_id":["default"],"client_secret":"x"}',
        '{"client_id":"default","client_secret":["x"]}',
        '{"client_id":"default","client_secret":{"$ne":""}}',
        '{"client_id":"default","client_secret":true}',
        '{"client_id":1,"client_secret":1}',
        '{"__proto__":{"client_id":"default","client_secret":"x"}}',
        `{${credentials},"grant_type":"password"}`,
        `{${credentials},"grant_type":""}`,
        `{${credentials},"grant_type":null}`,
        `{${credentials},"grant_type":["client_credentials"]}`,
        `[{${credentials}}]`,
        'client_id=default&client_secret=x',
      ),
      400,
    ),
    ...rows(
      basics(
        'Basic',
        'Basic =',
        'Basic ==',
        'Basic !!!!',
        'Basic YQ=A',
        'Basic YQ===',
        'Basic YTpi-_',
        'Basic a:b',
        'Basic YTpi YTpi',
        'Basic YTpi,YTpi',
        'Basic YTpi, Basic YTpi',
        'Basic "YTpi"',
        'Basic realm="x"',
        'Basic %59TpI',
        `Basic ${base64('no colon')}`,
        `Basic ${base64('')}`,
        `Basic ${Buffer.from('\xff:x', 'latin1').toString('base64')}`,
        `Basic ${Buffer.from('a:\xc0\x80', 'latin1').toString('base64')}`,
        `Basic ${Buffer.from('a:\xed\xa0\x80', 'latin1').toString('base64')}`,
        `BASIC\t${good}`,
        `Basic: ${good}`,
        `Basic${good}`,
        good,
        `Bearer ${good}`,
        `Digest ${good}`,
        bearer,
        '',
      ),
      400,
    ),
    ...rows(
      {
        'Basic and a secret in the body': send(
          { ...form, Authorization: `Basic ${good}` },
          `client_secret=${secret}`,
        ),
        'Basic and both in the body': send({ ...form, Authorization: `Basic ${good}` }, both),
        'Basic and another client in the body': send(
          { ...form, Authorization: `Basic ${good}` },
          'client_id=x',
        ),
        'Basic and a secret in JSON': send({ ...json, Authorization: `Basic ${good}` }, `{${credentials}}`),
        'Basic twice': send({ Authorization: `Basic ${good}\r\nAuthorization: Basic ${good}` }),
        'bad Basic and good credentials in the body': send({ ...form, Authorization: 'Basic !' }, both),
        'Basic and another grant': send({ ...form, Authorization: `Basic ${good}` }, 'grant_type=password'),
        'credentials in the query': sender({})(`POST /v1/auth/token?${both}`, {}, ''),
        'credentials in a cookie': send({ Cookie: both.replace('&', '; ') }),
        'credentials in header fields': send({
          client_id: client.client_id,
          client_secret: client.client_secret,
        }),
        'no body': sender({})('POST /v1/auth/token'),
        'a session in place of a client': send({ Cookie: cookie }),
      },
      400,
    ),
    ...rows(
      {
        'in another type': send({ 'Content-Type': 'text/xml' }, both),
        'a form with parts': send({ 'Content-Type': 'multipart/form-data; boundary=x' }, both),
        'a form in another charset': send(
          { 'Content-Type': `${form['Content-Type']}; charset=utf-16` },
          both,
        ),
        compressed: send({ ...form, 'Content-Encoding': 'deflate' }, both),
        'a form that begins like JSON': send(form, '{"client_id":"x"'),
        'a form without its type': send({}, both),
      },
      415,
    ),
    ...rows(
      {
        ...entriesFrom(
          [
            '__proto__',
            'constructor',
            'toString',
            'hasOwnProperty',
            ' default',
            'default ',
            'DEFAULT',
            'default\0',
            'ｄefault',
            'admin',
            '',
          ],
          (id) => send(json, JSON.stringify({ client_id: id, client_secret: client.client_secret })),
          'the right secret of another: ',
        ),
        'the right secret with a space': guess(`${client.client_secret} `),
        'the right secret with a NUL': guess(`${client.client_secret}\0`),
        'the right secret cut': guess(client.client_secret.slice(1)),
        'a long secret': guess('x'.repeat(60_000)),
        'a user as a client': send(
          json,
          JSON.stringify({ client_id: user.username, client_secret: user.password }),
        ),
        'Basic with nothing but a colon': send({ Authorization: `Basic ${base64(':')}` }),
        'Basic without a client': send({ Authorization: `Basic ${base64(`:${client.client_secret}`)}` }),
        'Basic with NULs': send({ Authorization: `Basic ${base64('\0:\0')}` }),
        'Basic with line ends': send({ Authorization: `Basic ${base64('a\r\nSet-Cookie: x\r\n:b')}` }),
        'Basic with a prototype': send({ Authorization: `Basic ${base64('__proto__:x')}` }),
        'Basic encoded twice': send({ Authorization: `Basic ${base64('d%2565fault:x')}` }),
        'Basic, long': send({ Authorization: `Basic ${base64(`long:${'x'.repeat(10_000)}`)}` }),
      },
      401,
    ),
    ...rows(
      {
        'Basic in small letters, with white space': send({ Authorization: `basic   ${good}` }),
        'Basic, form-encoded': send({ Authorization: `Basic ${base64(`d%65fault:${secret}`)}` }),
        'Basic and the same client in the body': send(
          { ...form, Authorization: `Basic ${good}` },
          'client_id=default',
        ),
        'a form with parameters of no meaning': send(form, `${both}&grant_type=&redirect_uri=http://evil/`),
        'JSON that is said to be a form': send(form, `\r\n {${credentials}}`),
        'JSON with members of no meaning': send(
          json,
          `{${credentials},"__proto__":{"scope":"admin"},"exp":9e99}`,
        ),
        'another scheme beside the body': send({ ...json, Authorization: 'Bearer x' }, `{${credentials}}`),
      },
      200,
    ),
    ...rows(
      {
        'guesses at one client, one after the other': send(
          json,
          '{"client_id":"guessed","client_secret":"x"}',
        ).repeat(12),
      },
      ...Array.from({ length: 10 }, () => 401),
      429,
      429,
    ),
    ...rows(
      {
        'Basic behind a no-break space': send({ Authorization: `Basic \xa0${good}` }),
        'Basic before a no-break space': send({ Authorization: `Basic ${good}\xa0` }),
      },
      400,
    ),
  ]
}
