import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { describe, it } from 'node:test'
import { newKeysCommand, readKeys } from '../../src/auth/keys.ts'
import { openedFolder } from '../support/temporary-folder.ts'

describe('the signing keys', () => {
  it('come with an error that advises a working command', async (t) => {
    const folder = await openedFolder(t)
    const { message } = await readKeys(folder, true).then(
      () => assert.fail('it opened'),
      (error: Error) => error,
    )
    assert.equal(message.split(' run: ')[1], newKeysCommand(folder))
    execFileSync('sh', ['-c', newKeysCommand(folder)])
    assert.deepEqual(await readKeys(folder, true), [])
  })
})
