import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { executable } from '../support/executable.ts'

/** What a client sends for a token. */
export interface ClientCredentials {
  readonly client_id: string
  readonly client_secret: string
}

/** Adds clients that may only read to a folder without a server: no account may have all places to wait. */
export async function addReaders(folder: string, count: number): Promise<ClientCredentials[]> {
  const readers: ClientCredentials[] = []
  for (let i = 0; i < count; i++) {
    const client_id = `reader-${i}`
    const args = ['client', 'add', '--read-only', client_id, '--data', folder]
    const { stdout } = await promisify(execFile)(executable, args)
    const [, client_secret] = /^client_secret: (.+)$/m.exec(stdout) ?? []
    if (client_secret === undefined) throw new Error(`connbook ${args.join(' ')}: ${stdout}`)
    readers.push({ client_id, client_secret })
  }
  return readers
}
