import { encodeFrame } from '../../src/journal/frame.ts'
import { encodeJournalStart } from '../../src/journal/journal-file.ts'

/** The bytes of a journal's header line, and of a frame for each batch of changes. */
export function encodeJournal(store: string, changes: readonly (readonly string[])[]) {
  const start = encodeJournalStart({ store, after: 0 }, [])
  let { crc, revision } = start
  const frames = changes.map((batch) => {
    const frame = encodeFrame(crc, revision + 1, JSON.stringify(batch))
    crc = frame.crc
    revision += batch.length
    return frame.bytes
  })
  return { header: start.bytes, frames }
}
