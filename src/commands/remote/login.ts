import { resolve } from 'node:path'
import { logIn } from '../../client/credential.ts'
import { loginsOf } from '../../client/logins.ts'
import { defineCommand } from '../../command-line/command.ts'
import { readLine, readLoginPassword } from '../../command-line/terminal.ts'
import { escapeHidden } from '../../text.ts'
import { clientExitCodes } from './client-exit-codes.ts'
import { checkPrivate, getEndpoint, withAuthority } from './connect.ts'

export const loginCommand = defineCommand({
  name: 'login',
  operands: 'URL',
  summary: 'log in at a server, and keep the session',
  examples: [
    ['connbook login https://book.example.net', ''],
    ['connbook login http://localhost:8080 --user eve < password.txt', ''],
  ],
  server: 'running',
  notes: [
    'It asks for user and password; without a terminal, the password is the first line of standard input.',
    'The session is kept in $XDG_STATE_HOME/connbook/sessions.json, or ~/.local/state/connbook/sessions.json. The password is not.',
  ],
  flags: ['loginUser', 'authority', 'plain'],
  exitCodes: clientExitCodes,
  async run({ options, operands: [url = ''] }, context) {
    const { loginUser, plain } = options
    // The file is read again by commands that run elsewhere.
    const authorities = options.authority === undefined ? undefined : resolve(options.authority)
    const endpoint = withAuthority(getEndpoint(url), authorities)
    checkPrivate(endpoint, { isSecret: true }, plain)
    const logins = loginsOf(context.environment)
    // Before the password is asked for.
    await logins.list()
    const user = loginUser ?? (await readLine('user', 'User', context))
    const password = await readLoginPassword(`Password of ${escapeHidden(user)} at ${endpoint.name}`, context)
    const cookie = await logIn(endpoint, user, password)
    await logins.keep({
      ...{ server: endpoint.name, user, cookie },
      ...(authorities === undefined ? {} : { authorities }),
      ...(plain ? { isPlain: true } : {}),
    })
    context.screen.write(`Logged in as ${escapeHidden(user)} at ${endpoint.name}\n`)
  },
})
