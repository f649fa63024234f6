import './support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  DamagedFileError,
  ifPresent,
  inFile,
  NewerFormError,
  OverloadedError,
  systemCode,
} from '../src/errors.ts'
import { systemError } from './support/failing-files.ts'

describe('ConnbookError', () => {
  it('has the name of its class', () => assert.equal(new OverloadedError('').name, 'OverloadedError'))
})

describe('inFile', () => {
  it('names file, place, reason and advice, and keeps the cause', () => {
    const cause = new SyntaxError('it is no record')
    const error = inFile('/data/a', 7, cause, 'do that')
    assert.equal(error.message, 'Cannot read "/data/a": it is no record at byte 7; do that')
    assert.deepEqual(
      [error.path, error.offset, error.reason, error.cause],
      ['/data/a', 7, 'it is no record', cause],
    )
  })

  it('never advises to discard a file of a newer connbook', () => {
    const { message } = inFile('/data/a', 0, new NewerFormError('version 2', 1), 'remove it')
    assert.match(
      message,
      /newer connbook: version 2 is unknown to this program, which reads 1, at byte 0; use /,
    )
    assert.doesNotMatch(message, /remove it/)
  })

  it('returns an error unchanged if it already names its file', () => {
    const error = new DamagedFileError('/data/b', 1, 'reason', 'advice')
    assert.equal(inFile('/data/a', 7, error, 'other'), error)
  })
})

describe('ifPresent', () => {
  it('returns the result, undefined for a missing file, and throws any other error', async () => {
    assert.equal(await ifPresent(Promise.resolve('a')), 'a')
    assert.equal(await ifPresent(Promise.reject(systemError('ENOENT'))), undefined)
    await assert.rejects(ifPresent(Promise.reject(systemError('EACCES'))), { code: 'EACCES' })
    await assert.rejects(ifPresent(Promise.reject(new Error('other'))), /other/)
  })
})

describe('systemCode', () => {
  it('returns the code of an error if it is a string', () => {
    const errors = [
      systemError('EIO'),
      new Error('a'),
      Object.assign(new Error('a'), { code: 1 }),
      { code: 'EIO' },
      'EIO',
    ]
    assert.deepEqual(errors.map(systemCode), ['EIO', undefined, undefined, undefined, undefined])
  })
})
