import assert from 'node:assert/strict'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import type { Accounts } from '../../src/auth/accounts.ts'
import { accountsDocument } from '../../src/auth/accounts-file.ts'
import { readKeys } from '../../src/auth/keys.ts'
import { REVOCATIONS_VERSION, readRevocations } from '../../src/auth/revocations-file.ts'
import { dataFiles, dataPaths } from '../../src/files/data-folder.ts'
import { type FileSystem, realFileSystem } from '../../src/files/file-system.ts'
import { openJournalFile } from '../../src/journal/journal-file.ts'
import { type Backup, readBackup } from '../../src/state/backup-document.ts'
import { readStore } from '../../src/storage/file/store-files.ts'
import { getToken, logIn, pathOf } from '../support/api.ts'
import { runCommand } from '../support/command.ts'
import { createClient, type Headers, type ShownRecord } from '../support/http-client.ts'
import { admin, client, start, usedFolder } from '../support/service.ts'
import { draft } from '../support/store.ts'
import { type Lifetime, temporaryFolder } from '../support/temporary-folder.ts'

/** The state that a backup saves. */
export interface KeptState {
  readonly records: readonly ShownRecord[]
  readonly nextId: number
  readonly accounts: Accounts
}

/** The data folder of a stopped service, and an older backup of it. */
export interface UsedFolder {
  readonly folder: string
  readonly backup: string
  /** What the backup holds. */
  readonly kept: KeptState
  /** The present state of the folder. */
  readonly current: KeptState
  /** A session and a token that the folder accepts. */
  readonly credentials: readonly Headers[]
}

/**
 * Makes a folder with the accounts `admin` and `client`, records with gaps between their ids and an ended credential,
 * takes a backup of it, and makes more changes.
 */
export async function makeUsedFolder(t: Lifetime): Promise<UsedFolder> {
  const root = await temporaryFolder(t)
  const [folder, backup] = [join(root, 'data'), join(root, 'backup.json')]
  await cp(await usedFolder(t), folder, { recursive: true })
  const service = await start(t, { folder, environment: {} })
  const cookie = await logIn(service.url, admin)
  const credentials = [cookie, await getToken(service.url, client)]
  const ask = createClient(service.url, cookie)
  const add = async (name: string) => {
    assert.equal((await ask('POST', '/configurations/', { body: draft(name) })).status, 200)
  }
  for (let i = 1; i <= 9; i += 1) await add(`kept ${i}`)
  await ask('DELETE', pathOf('kept 3'))
  await ask('PATCH', pathOf('kept 4'), { body: { name: 'renamed 4', username: 'ops “é\u2028”' } })
  // The next id must not be one above the highest present id.
  await ask('DELETE', pathOf('kept 9'))
  await createClient(service.url, await logIn(service.url, admin))('POST', '/logout')
  const taken = await runCommand(['backup', backup, '--data', folder])
  assert.equal(taken.code, 0, taken.stderr)
  const kept = await stateIn(folder)

  await add('later 1')
  await add('later 2')
  await ask('DELETE', pathOf('kept 1'))
  await service.stop()
  return { folder, backup, kept, current: await stateIn(folder), credentials }
}

/** A copy of the folder, in a new temporary folder. */
export async function copyOf({ folder }: UsedFolder, t: Lifetime): Promise<string> {
  const copy = join(await temporaryFolder(t), 'data')
  await cp(folder, copy, { recursive: true, preserveTimestamps: true })
  return copy
}

/** Reads what a folder holds, and checks that keys and revocations are undamaged. */
export async function stateIn(path: string, files?: FileSystem): Promise<KeptState> {
  const folder = dataPaths(path, files)
  const { index } = await readStore(folder, true)
  const accounts = (await accountsDocument(folder).read()) ?? assert.fail('no accounts')
  assert.equal((await readKeys(folder, true)).length, 1)
  const revocations = await openJournalFile(
    folder.file(dataFiles.revocations),
    folder.files,
    REVOCATIONS_VERSION,
    'r',
  )
  assert.ok(revocations !== undefined, 'no revocations')
  try {
    await readRevocations(revocations, folder)
  } finally {
    await revocations.close()
  }
  return { records: shown(index.slice(0, index.count)), nextId: index.lastId + 1, accounts }
}

/** The content of a sound backup, read as plain JSON. */
export function stateOfText(text: string): KeptState {
  const { records, lastId, accounts } = JSON.parse(text) as Backup
  return { records: records as unknown as ShownRecord[], nextId: lastId + 1, accounts }
}

/** The state in a sound backup, whose checksum is verified. */
export async function stateOfBackup(path: string): Promise<KeptState> {
  const { records, lastId, accounts } = await readBackup(path, realFileSystem)
  return { records: shown([...records]), nextId: lastId + 1, accounts }
}

function shown(records: readonly { readonly json: string }[]): ShownRecord[] {
  return records.map(({ json }) => JSON.parse(json) as ShownRecord)
}
