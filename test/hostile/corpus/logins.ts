import { sender, utf8 } from '../requests.ts'
import { entriesFrom, type HostileRow, type Loot, rows } from '../row.ts'

/**
 * Bodies for `/login`. Guesses at the known user stay below the number that starts a pause; each other name is
 * guessed once.
 */
export function loginRows({ user, client }: Loot): HostileRow[] {
  const send = sender({ 'Content-Type': 'application/json' })
  const bodies = (...texts: string[]) => entriesFrom(texts, (text) => send('POST /login', {}, text))
  const values = (fields: Record<string, unknown>) => send('POST /login', {}, utf8(JSON.stringify(fields)))

  return [
    ...rows(
      bodies(
        '{}',
        'null',
        '[]',
        '["admin","x"]',
        '"admin"',
        '{"username":"admin"}',
        '{"password":"x"}',
        '{"username":null,"password":"x"}',
        '{"username":"admin","password":null}',
        '{"username":{"$ne":null},"password":{"$ne":null}}',
        '{"username":{"$gt":""},"password":"x"}',
        '{"username":["admin"],"password":"x"}',
        '{"username":"admin","password":["x"]}',
        '{"username":"admin","password":true}',
        '{"username":0,"password":0}',
        '{"username":"admin","password":{"length":1}}',
        '{"username":{"toString":"admin"},"password":"x"}',
        '{"username":"admin","name":"root","password":"x"}',
        '{"username":"admin","name":null,"password":"x"}',
        '{"username":"admin","name":["admin"],"password":"x"}',
        '{"__proto__":{"username":"admin","password":"x"}}',
        '{"constructor":{"username":"admin"},"password":"x"}',
        '{"Username":"admin","Password":"x"}',
        '{"username ":"admin","password":"x"}',
        '{"username":"admin","password":"x","password":1}',
        'username=admin&password=x',
        '<username>admin</username>',
      ),
      400,
    ),
    ...rows(
      {
        'a form': sender({ 'Content-Type': 'application/x-www-form-urlencoded' })(
          'POST /login',
          {},
          `username=${user.username}&password=${encodeURIComponent(user.password)}`,
        ),
        XML: sender({ 'Content-Type': 'text/xml' })('POST /login', {}, '<login/>'),
        'a form without a type': sender({})('POST /login', {}, 'username=admin&password=x'),
      },
      415,
    ),
    ...rows(
      {
        ...entriesFrom(
          [
            '',
            ' ',
            'admin ',
            ' admin',
            'ADMIN',
            'Admin',
            'admin\0',
            'adm\u0131n',
            'ａdmin',
            'admin\u200b',
            'admin\n',
            'root',

            '__proto__',
            'constructor',
            'toString',
            'hasOwnProperty',
            'prototype',
            "admin'--",
            "' OR 1=1 --",
            '*',
            '%',
            '\ud800',

            '../admin',
            '*)(uid=*',
            `\${jndi:ldap://a}`,
            'admin\r\nSet-Cookie: a=b',
            '{"level":"error"}',
            '\n{"level":"error"}\n',
          ],
          (username) => values({ username, password: user.password }),
          'the right password of another: ',
        ),
        'the right user without a password': values({ username: user.username, password: '' }),
        'the right password with a space': values({ username: user.username, password: `${user.password} ` }),
        'the right password with a NUL': values({ username: user.username, password: `${user.password}\0` }),
        'the right password cut': values({ username: user.username, password: user.password.slice(0, -1) }),
        'the right password in capitals': values({
          username: user.username,
          password: user.password.toUpperCase(),
        }),
        'the right password with much behind it': values({
          username: user.username,
          password: `${user.password}${'x'.repeat(60_000)}`,
        }),
        'a long name': values({ username: 'x'.repeat(60_000), password: 'x' }),
        'a password of NULs': values({ username: 'nul', password: '\0'.repeat(1_000) }),
        'a password with a lone surrogate': values({ username: 'surrogate', password: '\udc00' }),
        'a user whose name is a client': values({
          username: client.client_id,
          password: client.client_secret,
        }),
        'credentials in Basic beside those in the body': send(
          'POST /login',
          { Authorization: `Basic ${btoa(`${user.username}:${user.password}`)}` },
          '{"username":"basic","password":"x"}',
        ),
        'two usernames, of which the last counts': send(
          'POST /login',
          {},
          `{"username":"${user.username}","username":"doubled","password":"${user.password}"}`,
        ),
      },
      401,
    ),
    ...rows(
      {
        'the right one, with members of no meaning': values({ ...user, name: user.username, admin: true }),
      },
      200,
    ),
    ...rows(
      {
        'guesses at one account, one after the other': values({ username: 'guessed', password: 'x' }).repeat(
          12,
        ),
      },
      ...Array.from({ length: 10 }, () => 401),
      429,
      429,
    ),
  ]
}
