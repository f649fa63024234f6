import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { DamagedFileError, inFile, NewerFormError } from '../../src/errors.ts'
import { asDamage, describeTail, examine } from '../../src/storage/finding.ts'
import { systemError } from '../support/failing-files.ts'

const damaged = new DamagedFileError('/data/keys.json', 3, 'the checksum differs', 'do this')
const newer = inFile('/data/keys.json', 0, new NewerFormError('version 9', 1), 'do this')

describe('a finding', () => {
  it('describes a sound file', async () => {
    assert.deepEqual(await examine('keys.json', async () => '2 keys'), [
      { name: 'keys.json', words: '2 keys', isDamage: false },
    ])
  })

  it('is absent for a file that may be missing', async () => {
    assert.deepEqual(await examine('keys.json', async () => undefined), [])
  })

  it('names the place, the reason and the remedy for a damaged file', async () => {
    const found = await examine('keys.json', () => Promise.reject(damaged))
    const words = 'Cannot read "/data/keys.json": the checksum differs at byte 3; do this'
    assert.deepEqual(found, [{ name: 'keys.json', words, isDamage: true, isNewer: false }])
  })

  it('distinguishes a file of a newer connbook from a damaged one', async () => {
    const [found] = await examine('keys.json', () => Promise.reject(newer))
    assert.deepEqual([found?.isDamage, found?.isNewer], [true, true])
  })

  it('has advice for a file that the disk cannot read', () => {
    const { path, words, isNewer } = asDamage(systemError('EIO', '/data/keys.json'))
    assert.deepEqual([path, isNewer], ['/data/keys.json', false])
    assert.match(words, /^EIO: made by the test; restore from a backup with/)
  })

  for (const [what, error] of Object.entries({
    'another system error': systemError('EACCES', '/data/keys.json'),
    'a failing disk without a file': systemError('EIO'),
    'a fault of the program': new TypeError('x is not a function'),
    'a text': 'no error',
  })) {
    it(`is not made from ${what}`, async () => {
      await assert.rejects(
        examine('keys.json', () => Promise.reject(error)),
        (thrown) => thrown === error,
      )
    })
  }
})

describe('the words for a torn tail', () => {
  it('are empty without a torn tail, and otherwise state its length', () => {
    assert.equal(describeTail({ tornBytes: 0 }), '')
    assert.match(describeTail({ tornBytes: 1 }), /^; then 1 byte of a change /)
    assert.match(describeTail({ tornBytes: 20 }), /^; then 20 bytes of a change /)
  })
})
