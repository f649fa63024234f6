import { cp, mkdtemp, open, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { dataFiles, openDataFolder } from '../../src/files/data-folder.ts'
import { realFileSystem } from '../../src/files/file-system.ts'
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

/** Puts records named `record-1` and so on in the place of those in a folder that has had its first start. */
export async function fillFolder(path: string, count: number): Promise<void> {
  const records = Array.from({ length: count }, (_, i) => new Configuration(i + 1, fieldsOf(i + 1)))
  const folder = await openDataFolder(path)
  try {
    const header = { store: STORE, revision: count, lastId: count, count, hasLabels: false }
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
