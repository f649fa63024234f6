import { cp, mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { dataFiles, openDataFolder } from '../../src/files/data-folder.ts'
import { realFileSystem } from '../../src/files/file-system.ts'
import { Configuration } from '../../src/store/configuration.ts'
import { createJournalFile } from '../../src/store/journal-file.ts'
import { writeSnapshot } from '../../src/store/snapshot.ts'

const STORE = '0'.repeat(32)

/** A path below `workshop` where nothing is yet. */
export async function newPath(workshop: string): Promise<string> {
  return join(await mkdtemp(join(workshop, 'folder-')), 'data')
}

/** A copy to be changed at will. */
export async function copyOf(folder: string, workshop: string): Promise<string> {
  const path = await newPath(workshop)
  await cp(folder, path, { recursive: true })
  return path
}

/** Puts records named `record-1` and so on in the place of those in a folder that has had its first start. */
export async function fillFolder(path: string, count: number): Promise<void> {
  const records = Array.from({ length: count }, (_, i) => {
    const id = i + 1
    return new Configuration(id, {
      name: `record-${id}`,
      hostname: `host-${id}.example`,
      port: 22,
      username: 'ops',
    })
  })
  const folder = await openDataFolder(path)
  try {
    const header = { store: STORE, revision: count, lastId: count }
    await writeSnapshot(folder.file(dataFiles.snapshot), header, records, realFileSystem)
    await createJournalFile(folder.file(dataFiles.journal), { store: STORE, after: count }, realFileSystem)
  } finally {
    folder.release()
  }
}
