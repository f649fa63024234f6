import { cp, mkdtemp, open, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { dataFiles } from '../../src/files/data-folder.ts'
import { realFileSystem } from '../../src/files/file-system.ts'
import { openDataFolder } from '../../src/files/owned-folder.ts'
import { encodeJournalStart } from '../../src/journal/journal-file.ts'
import { writeSnapshot } from '../../src/storage/file/snapshot.ts'
import { CHANGE_VERSION, type Change } from '../../src/store/change.ts'
import { Configuration, type NewConfiguration } from '../../src/store/configuration.ts'

const STORE = '0'.repeat(32)

const services = [
  { port: 22, username: 'ops' },
  { port: 5432, username: 'reporting' },
  { port: 8443, username: 'deploy-agent' },
] as const

const environments = ['prod', 'test', 'staging']

/** A path below `workshop` where nothing is yet. */
export async function newPath(workshop: string): Promise<string> {
  return join(await mkdtemp(join(workshop, 'folder-')), 'data')
}

/** A copy to be changed at will. */
export async function copyOf(folder: string, workshop: string): Promise<string> {
  const path = await newPath(workshop)
  await cp(folder, path, { recursive: true })
  // Otherwise the disk would still be busy with the copy during a measurement.
  for (const name of await readdir(path)) await syncFile(join(path, name))
  return path
}

/** The fields of `record-1` and so on. */
export function fieldsOf(id: number): NewConfiguration {
  const { port, username } = services[id % services.length] ?? services[0]
  return { name: `record-${id}`, hostname: `host-${id}.example`, port, username }
}

/** The same with four labels: three that many records share, and one that no other has. */
export function labelledFieldsOf(id: number): NewConfiguration {
  const labels = {
    env: environments[id % environments.length] ?? '',
    group: `team-${id % 50}`,
    'ssh.proxyjump': `bastion-${id % 10}.example`,
    asset: `asset-${id}`,
  }
  return { ...fieldsOf(id), labels }
}

/**
 * Puts records named `record-1` and so on in the place of those in a folder that has had its first start.
 *
 * @param makeFields What they have, by their id.
 */
export async function fillFolder(
  path: string,
  count: number,
  makeFields: (id: number) => NewConfiguration = fieldsOf,
): Promise<void> {
  const records = Array.from({ length: count }, (_, i) => new Configuration(i + 1, makeFields(i + 1)))
  const folder = await openDataFolder(path)
  try {
    const hasLabels = records.some(({ labels }) => labels !== undefined)
    const header = { store: STORE, revision: count, lastId: count, count, hasLabels }
    await writeSnapshot(folder.file(dataFiles.snapshot), header, records, realFileSystem)
  } finally {
    folder.release()
  }
  await writeJournal(path, count, [])
}

/** Makes these the changes since the snapshot of a filled folder with `count` records. */
export async function writeJournal(path: string, count: number, changes: readonly Change[]): Promise<void> {
  const { bytes } = encodeJournalStart({ store: STORE, after: count, version: CHANGE_VERSION }, changes)
  await writeFile(join(path, dataFiles.journal), bytes, { mode: 0o600 })
}

async function syncFile(path: string): Promise<void> {
  await using file = await open(path)
  await file.sync()
}
