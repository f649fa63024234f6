import { encodeFrame } from '../../src/journal/frame.ts'
import type { Authorship } from '../../src/store/authorship.ts'
import type { Change } from '../../src/store/change.ts'
import { Configuration } from '../../src/store/configuration.ts'
import { encoded } from '../support/store.ts'
import { fieldsOf } from './data-folders.ts'

/** As long as that of a steady write. */
const authorship: Authorship = {
  actor: {
    address: '127.0.0.1',
    requestId: '0123abcd-1000',
    principal: { kind: 'client', name: 'default' },
  },
  time: '2026-01-01T00:00:00.000Z',
}

/**
 * Modifications for a journal after which this many steady writes start the next snapshot.
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

function modificationOf(id: number, username: string): Change {
  const fields = fieldsOf(id)
  return { modify: new Configuration(id, { ...fields, username }), name: fields.name }
}

/** Size of a journal frame with one change, as steady writes make them. */
function frameBytes(records: number): number {
  return encodeFrame(0, records, encoded([{ ...modificationOf(records, 'writer-1000'), authorship }])).bytes
    .length
}
