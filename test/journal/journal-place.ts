import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { realFileSystem } from '../../src/files/file-system.ts'
import { encodeFrame } from '../../src/journal/frame.ts'
import { encodeJournalStart, openJournalFile } from '../../src/journal/journal-file.ts'
import { createMemoryLog } from '../support/memory-log.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** The changes of a journal, frame by frame. */
export const batches = [['a'], ['b', 'ö "0badc0de 4 9 [1]"'], ['c'], ['d', 'e', 'f'], ['g']]
export const { header, frames } = encodeJournal('this store', batches)
export const last = frames.at(-1) ?? Buffer.alloc(0)
/** All but the last frame. */
export const before = Buffer.concat([header, ...frames.slice(0, -1)])

/** A path for a journal that the test fills. */
export async function journalFile(t: TestContext) {
  const folder = await temporaryFolder(t)
  const path = join(folder, 'journal.jsonl')
  return {
    path,
    write: (...parts: Uint8Array[]) => writeFile(path, parts),
    tornFiles: async () => (await readdir(folder)).filter((entry) => entry.startsWith('journal.torn-')),
    async replay() {
      const journal = await openJournalFile(path, realFileSystem, 1)
      const found: unknown[] = []
      try {
        const end = await journal?.read((change) => found.push(change))
        if (end !== undefined) await journal?.cut(end, createMemoryLog())
      } finally {
        await journal?.close()
      }
      return found
    },
  }
}

/** The bytes of a journal's header line, and of a frame for each batch of changes. */
export function encodeJournal(store: string, changes: readonly (readonly string[])[]) {
  const start = encodeJournalStart({ store, after: 0, version: 1 }, [])
  let { crc, revision } = start
  const frames = changes.map((batch) => {
    const frame = encodeFrame(crc, revision + 1, JSON.stringify(batch))
    crc = frame.crc
    revision += batch.length
    return frame.bytes
  })
  return { header: start.bytes, frames }
}
