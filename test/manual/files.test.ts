import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { AUDIT_FILE_BYTES_MAX } from '../../src/audit/audit-trail.ts'
import { auditFiles, dataFiles, OWNER_SOCKET } from '../../src/files/data-folder.ts'
import { SNAPSHOT_JOURNAL_BYTES_MIN } from '../../src/storage/file/file-storage.ts'
import { readChapterNamed } from './published.ts'

const text = readChapterNamed('files')
const MIB = 1024 * 1024

describe('the chapter "files"', () => {
  it('has every file of the data folder in its table', () => {
    const cells = (text.match(/^\| [^|]*/gm) ?? []).join()
    const named = [...Object.values(dataFiles), OWNER_SOCKET, auditFiles[0], auditFiles[1]]
    assert.deepEqual(
      named.filter((name) => !cells.includes(`\`${name}\``)),
      [],
    )
    assert.ok(text.includes(`up to \`${auditFiles.at(-1)}\``))
  })

  it('says the sizes that the files can have', () => {
    const [all, each] = [auditFiles.length * AUDIT_FILE_BYTES_MAX, AUDIT_FILE_BYTES_MAX].map(
      (bytes) => `${bytes / MIB} MiB`,
    )
    assert.ok(text.includes(`up to ${all}: five files of ${each}.`))
    assert.ok(text.includes(`The journal grows to ${SNAPSHOT_JOURNAL_BYTES_MIN / MIB} MiB`))
  })
})
