import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { FolderRefusedError } from '../../src/errors.ts'
import { realFileSystem } from '../../src/files/file-system.ts'
import { describeSystemError, throwExplained } from '../../src/files/refusal.ts'
import { systemError } from '../support/failing-files.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

async function explain(error: unknown): Promise<unknown> {
  return throwExplained(error, realFileSystem).catch((thrown: unknown) => thrown)
}

describe('an error of the system for a path', () => {
  const explanations = {
    EDQUOT: /the quota of this account is used up \(EDQUOT\); make room/,
    EFBIG: /limit on file sizes \(EFBIG\); raise that limit/,
    EIO: /the disk failed \(EIO\); see what the system says about the disk/,
    EMFILE: /too many files are open \(EMFILE\); raise the limit/,
    ENOSPC: /no room is left on the disk \(ENOSPC\); make room/,
    EROFS: /the file system is read-only \(EROFS\); mount it for writing/,
    SQLITE_FULL: /no room is left on the disk \(SQLITE_FULL\); make room/,
    SQLITE_IOERR: /the disk failed \(SQLITE_IOERR\)/,
  }
  for (const [code, words] of Object.entries(explanations)) {
    it(`names the path and the remedy for ${code}`, async () => {
      const explained = await explain(systemError(code, '/d/keys.json'))
      assert.ok(explained instanceof FolderRefusedError)
      assert.match(explained.message, /^Cannot use "\/d\/keys\.json": /)
      assert.match(explained.message, words)
    })
  }

  it('names the system call', async () => {
    const error = Object.assign(systemError('EIO', '/d/keys.json'), { syscall: 'fsync' })
    assert.match(String(await explain(error)), /the disk failed \(fsync: EIO\)/)
  })

  it('names the nearest parent that denies access', async (t) => {
    const folder = await temporaryFolder(t)
    const error = systemError('EACCES', join(folder, 'gone', 'keys.json'))
    assert.match(String(await explain(error)), new RegExp(`"${folder}": this account has no permission`))
  })

  it('stays as it is without a path, or with another code', async () => {
    for (const error of [systemError('EIO'), systemError('ENOENT', '/d'), new Error('a fault'), 'a text'])
      assert.equal(await explain(error), error)
  })
})

describe('describeSystemError', () => {
  it('names the path, the call, the reason and what to do', () => {
    const error = Object.assign(systemError('ENOENT', '/a'), { syscall: 'stat' })
    assert.equal(
      describeSystemError(error),
      'Cannot use "/a": there is no such file or folder (stat: ENOENT); see whether it was moved, or its disk is not mounted, and try again',
    )
  })

  it('has words for an error without a path, and for a code that it does not know', () => {
    for (const code of ['EIO', 'EISDIR', 'EBADF'])
      assert.match(
        describeSystemError(systemError(code)),
        new RegExp(`^Cannot go on: [^;:]+ \\(${code}\\); .+`),
      )
  })
})
