import type { Change } from '../../src/store/change.ts'
import { Configuration } from '../../src/store/configuration.ts'
import { encodeFrame } from '../../src/store/frame.ts'
import { fieldsOf } from './data-folders.ts'
import type { Write } from './steady-writes.ts'

/** Shares no factor with a power of ten, so that no record comes twice before all have come once. */
const STRIDE = 37

/**
 * Modifications for a journal after which this many steady writes bring the next snapshot about.
 *
 * @param snapshotBytes A snapshot is due when the journal has grown to the size of the last one.
 */
export function changesBeforeSnapshot(snapshotBytes: number, records: number, writes: number): Change[] {
  const changes: Change[] = []
  let bytes = writes * frameBytes(records)
  for (let id = 1; bytes < snapshotBytes; id = (id % records) + 1) {
    const change = modificationOf(id, `rotated-${changes.length}`)
    changes.push(change)
    bytes += JSON.stringify(change).length + 1
  }
  return changes
}

/** Steady writes, one in two an add and one in two a modification, each of another record. */
export function writeOf(index: number, records: number): Write {
  const { name, username } = outcomeOf(index, records)
  if (index % 2 === 0)
    return { method: 'PATCH', path: `/configurations/${name}`, body: JSON.stringify({ username }) }
  return {
    method: 'POST',
    path: '/configurations/',
    body: JSON.stringify({ ...fieldsOf(index), name, username }),
  }
}

/** What must be there once a write is acknowledged. */
export function outcomeOf(index: number, records: number) {
  const name = index % 2 === 0 ? `record-${1 + ((index * STRIDE) % records)}` : `new-${index}`
  return { name, username: `writer-${index}` }
}

function modificationOf(id: number, username: string): Change {
  const fields = fieldsOf(id)
  return { modify: new Configuration(id, { ...fields, username }), name: fields.name }
}

/** Of a journal frame with one change, as steady writes make them. */
function frameBytes(records: number): number {
  return encodeFrame(0, records, JSON.stringify([modificationOf(records, 'writer-1000')])).bytes.length
}
