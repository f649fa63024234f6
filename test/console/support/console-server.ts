import assert from 'node:assert/strict'
import { addAccount } from '../../../src/auth/accounts.ts'
import { accountsDocument } from '../../../src/auth/accounts-file.ts'
import { dataPaths } from '../../../src/files/data-folder.ts'
import type { NewConfiguration } from '../../../src/store/configuration.ts'
import { fieldsOf, fillFolder } from '../../bench/data-folders.ts'
import { getToken } from '../../support/api.ts'
import { type RunningServer, startExecutable } from '../../support/executable.ts'
import { freePort } from '../../support/free-port.ts'
import { type Ask, createClient } from '../../support/http-client.ts'
import { client, usedFolder } from '../../support/service.ts'
import { cheapHashOf } from '../../support/started-folder.ts'
import type { Lifetime } from '../../support/temporary-folder.ts'
import { closePagesFirst } from './browser.ts'

/** A user who may only read. `admin` of test/support/service.ts may do everything. */
export const reader = { username: 'reader', password: 'staple horse lamp' }

/** Comparing longer lists with the OpenAPI document would take most of a test's time. */
const DESCRIBED_RECORDS_MAX = 1_000

/** The executable with the users `admin` and `reader`. */
export interface ConsoleServer {
  /** With the base path, without a slash at its end; the same after a start on the same folder. */
  readonly url: string
  /** The data folder. */
  readonly folder: string
  /** Calls the API as somebody else, the client `script`, who may do everything. */
  readonly api: Ask
  /** Everything on standard error since the last start. */
  stderr(): string
  /** Ends the server as `kill -9` or another signal does, and resolves once it is gone. */
  stop(signal?: NodeJS.Signals): Promise<void>
  /** Starts the server again on the same folder and port. */
  startAgain(): Promise<void>
}

/**
 * Starts the executable on a free port; it is killed when the test or the suite ends, after the test's pages were closed.
 *
 * @param records What is in the store: this many, named `record-1` and so on, or these. They have no history.
 * @param basePath For example `/connbook`.
 * @param flags Further ones.
 */
export async function startConsoleServer(
  t: Lifetime,
  {
    records = [],
    basePath = '',
    flags = [],
  }: {
    records?: number | readonly NewConfiguration[]
    basePath?: string
    flags?: readonly string[]
  } = {},
): Promise<ConsoleServer> {
  closePagesFirst(t)
  const folder = await usedFolder(t)
  await addReader(folder)
  const count = typeof records === 'number' ? records : records.length
  const makeFields =
    typeof records === 'number' ? fieldsOf : (id: number) => records[id - 1] ?? assert.fail(`no record ${id}`)
  if (count > 0) await fillFolder(folder, count, makeFields)

  const args = ['--data', folder, ...(basePath === '' ? [] : ['--base-path', basePath]), ...flags]
  // No other process is given this port before it starts again.
  const port = await freePort()
  const start = () => startExecutable(t, args, { port, isTimed: count > DESCRIBED_RECORDS_MAX })
  let server: RunningServer = await start()
  const { url } = server
  return {
    url,
    folder,
    api: createClient(url, await getToken(url, client)),
    stderr: () => server.stderr(),
    async stop(signal = 'SIGKILL') {
      await server.stop(signal)
    },
    async startAgain() {
      server = await start()
    },
  }
}

async function addReader(folder: string): Promise<void> {
  const document = accountsDocument(dataPaths(folder))
  const accounts = (await document.read()) ?? assert.fail('no accounts')
  const { username, password } = reader
  await document.write(addAccount(accounts, 'user', username, await cheapHashOf(password), 'read'))
}
