import '../support/node-version.ts'
import '../support/light-argon2.ts'
import { after, describe, it } from 'node:test'
import { assertBrokenBackupsRefused } from './broken-backups.ts'
import { makeUsedFolder } from './kept-state.ts'

const used = await makeUsedFolder({ after })

describe('connbook restore', () => {
  it('refuses many backups cut at any length or with any bit flipped, and changes nothing', (t) =>
    assertBrokenBackupsRefused(t, used, 2_000))
})
