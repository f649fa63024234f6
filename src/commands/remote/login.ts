import { resolve } from 'node:path'
import { logIn, logOut } from '../../client/credential.ts'
import { loginsOf } from '../../client/logins.ts'
import { OtherAnswerError } from '../../client/refused.ts'
import { align, linesOf } from '../../command-line/columns.ts'
import { defineCommand } from '../../command-line/command.ts'
import { clientExitCodes } from '../../command-line/exit-codes.ts'
import { shown } from '../../command-line/output.ts'
import { readLine, readLoginPassword } from '../../command-line/terminal.ts'
import { ConnbookError } from '../../errors.ts'
import { isObject } from '../../json.ts'
import { escapeHidden } from '../../text.ts'
import { calledFrom, checkPrivate, clientFlags, connect, findLogin, getEndpoint } from './connect.ts'

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
    const endpoint = calledFrom(await getEndpoint(url), authorities, context.environment)
    checkPrivate(endpoint, { isSecret: true }, plain)
    const logins = loginsOf(context.environment)
    // Before the password is asked for.
    await logins.list()
    const user = loginUser ?? (await readLine('user', 'User', context))
    const password = await readLoginPassword(`Password of ${user} at ${endpoint.name}`, context)
    const cookie = await logIn(endpoint, user, password)
    await logins.keep({
      ...{ server: endpoint.name, user, cookie },
      ...(authorities === undefined ? {} : { authorities }),
      ...(plain ? { isPlain: true } : {}),
    })
    context.screen.write(`Logged in as ${escapeHidden(user)} at ${endpoint.name}\n`)
  },
})

export const logoutCommand = defineCommand({
  name: 'logout',
  summary: 'end the session that login has kept, here and at the server',
  examples: [
    ['connbook logout', 'if there is one login'],
    ['connbook logout --server book.example.net', 'if there are several'],
  ],
  server: 'running',
  flags: ['server', 'authority'],
  exitCodes: clientExitCodes,
  async run({ options }, { environment, screen }) {
    const logins = loginsOf(environment)
    const { server, cookie, authorities } = await findLogin({ options }, logins)
    // First: a session that cannot be ended at the server is not to be used again either.
    await logins.forget(server)
    const endpoint = calledFrom(await getEndpoint(server), options.authority ?? authorities, environment)
    await logOut(endpoint, cookie).catch((error: unknown) => {
      if (error instanceof ConnbookError)
        error.message += '; the session is forgotten here, but stays good at the server until it expires'
      throw error
    })
    screen.write(`Logged out at ${server}\n`)
  },
})

export const whoamiCommand = defineCommand({
  name: 'whoami',
  summary: 'show which server is called, and as whom',
  examples: [['connbook whoami', 'server, account, what it may do, until when']],
  flags: [...clientFlags, 'json'],
  exitCodes: clientExitCodes,
  async run(input, context) {
    const client = await connect(input, context, 'whoami')
    const body = await client.askJson({ method: 'GET', path: '/v1/whoami' })
    if (!isObject(body) || typeof body.account !== 'string')
      throw new OtherAnswerError(`${client.endpoint.name} does not say who calls; is it an older connbook?`)
    const { style, print } = context
    // Whatever the answer says: this is the server that was called.
    const { server, ...others } = body
    const answer = { server: client.endpoint.name, ...others }
    const rows = Object.entries(answer).map(([key, value]) => [
      key,
      Array.isArray(value) ? value.join(' ') : String(value),
    ])
    const lines = style.isTerminal
      ? align(rows.map((row) => row.map(escapeHidden)))
      : rows.map((row) => row.join('\t'))
    const text = input.options.json ? [JSON.stringify(answer)] : lines
    await shown(print(linesOf(text)), 'show who calls')
  },
})
