import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { stat, truncate } from 'node:fs/promises'
import { describe, it } from 'node:test'
import { AUDIT_FILE_BYTES_MAX } from '../../src/audit/audit-trail.ts'
import { auditFiles, dataPaths } from '../../src/files/data-folder.ts'
import { parseSize } from '../../src/service/option-values.ts'
import { serverOptionSpecs } from '../../src/service/server-options.ts'
import { start, usedFolder } from '../support/service.ts'

describe('--audit-keep', () => {
  it('is the size of all files together, by default that of the limits', () => {
    assert.equal(
      parseSize(serverOptionSpecs.auditKeepBytes.default),
      auditFiles.length * AUDIT_FILE_BYTES_MAX,
    )
  })

  it('says at which size a new file of the trail begins', async (t) => {
    for (const [size, hasBegun] of [
      ['10M', true],
      ['80M', false],
    ] as const) {
      const folder = await usedFolder(t)
      const paths = dataPaths(folder)
      await (await start(t, { folder, flags: ['--audit-keep', size] })).stop()
      await truncate(paths.file(auditFiles[0]), 2 * 1024 * 1024)
      await (await start(t, { folder, flags: ['--audit-keep', size] })).stop()
      const second = await stat(paths.file(auditFiles[1])).catch(() => undefined)
      assert.equal(second !== undefined, hasBegun, size)
    }
  })
})
