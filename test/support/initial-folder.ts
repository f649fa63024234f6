import { cp } from 'node:fs/promises'
import { writeInitialCredentials } from '../../src/auth/initial-credentials.ts'
import { dataPaths } from '../../src/files/data-folder.ts'
import { startedFolder } from './started-folder.ts'
import type { Lifetime } from './temporary-folder.ts'

/** What the first start has made up. */
export const initial = {
  username: 'admin',
  password: 'made up for a user',
  client_id: 'default',
  client_secret: 'made up for a client',
}

/** Makes a folder as a first start leaves it that has made credentials up; to check them takes hardly any time. */
export async function makeInitialFolder(t: Lifetime, path: string): Promise<void> {
  const user = { name: initial.username, secret: initial.password }
  const client = { name: initial.client_id, secret: initial.client_secret }
  await cp(await startedFolder(t, user, client), path, { recursive: true })
  await writeInitialCredentials(dataPaths(path), initial)
}
