import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { InitialCredentials } from '../../src/auth/initial-credentials.ts'
import { dataFiles } from '../../src/files/data-folder.ts'
import { createClient } from '../support/http-client.ts'

export async function initialCredentialsIn(folder: string): Promise<InitialCredentials> {
  return JSON.parse(await readFile(join(folder, dataFiles.initialCredentials), 'utf8'))
}

/** Whether a user and a client can authenticate with their credentials. */
export async function getIn(
  url: string,
  { username, password, client_id, client_secret }: InitialCredentials,
) {
  const ask = createClient(url)
  const [login, token] = [
    await ask('POST', '/login', { body: { username, password } }),
    await ask('POST', '/v1/auth/token', { body: { client_id, client_secret } }),
  ]
  return [login.status === 200, token.status === 200]
}
