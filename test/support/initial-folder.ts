import { cp } from 'node:fs/promises'
import { writeInitialCredentials } from '../../src/auth/initial-credentials.ts'
import { dataPaths } from '../../src/files/data-folder.ts'
import { startedFolder } from './started-folder.ts'
import type { Lifetime } from './temporary-folder.ts'

/** The credentials that the first start generated. */
export const initial = {
  username: 'admin',
  password: 'made up for a user',
  client_id: 'default',
  client_secret: 'made up for a client',
}

/** Makes a folder as a first start with generated credentials leaves it; they are cheap to check. */
export async function makeInitialFolder(t: Lifetime, path: string): Promise<void> {
  const user = { name: initial.username, secret: initial.password }
  const client = { name: initial.client_id, secret: initial.client_secret }
  await cp(await startedFolder(t, user, client), path, { recursive: true })
  await writeInitialCredentials(dataPaths(path), initial)
}
