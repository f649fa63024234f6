import { logOut } from '../../client/credential.ts'
import { loginsOf } from '../../client/logins.ts'
import { defineCommand } from '../../command-line/command.ts'
import { ConnbookError } from '../../errors.ts'
import { clientExitCodes } from './client-exit-codes.ts'
import { findLogin, getEndpoint, withAuthority } from './connect.ts'

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
    const endpoint = withAuthority(getEndpoint(server), options.authority ?? authorities)
    await logOut(endpoint, cookie).catch((error: unknown) => {
      if (error instanceof ConnbookError)
        error.message += '; the session is forgotten here, but stays good at the server until it expires'
      throw error
    })
    screen.write(`Logged out at ${server}\n`)
  },
})
