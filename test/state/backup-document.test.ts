import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { gzipSync } from 'node:zlib'
import { DamagedFileError } from '../../src/errors.ts'
import { realFileSystem } from '../../src/files/file-system.ts'
import { InputUnreadableError } from '../../src/files/input.ts'
import { BACKUP_START, describeBackup, readBackup, writeBackup } from '../../src/state/backup-document.ts'
import { createFailingFiles, failOn } from '../support/failing-files.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { smallBackup } from './small-backup.ts'

async function textOf(backup = smallBackup): Promise<string> {
  let text = ''
  await writeBackup(backup, async (piece) => {
    text += piece
  })
  return text
}

async function fileWith(t: TestContext, content: string | Uint8Array): Promise<string> {
  const path = join(await temporaryFolder(t), 'backup.json')
  await writeFile(path, content)
  return path
}

const read = (path: string, files = realFileSystem) => readBackup(path, files)

describe('a backup', () => {
  it('is read back as it was written', async (t) => {
    const { records, ...others } = await read(await fileWith(t, await textOf()))
    assert.deepEqual({ ...others, records: [...records] }, smallBackup)
  })

  it('is one JSON document with the common header', async () => {
    const text = await textOf()
    assert.ok(text.startsWith(BACKUP_START))
    assert.deepEqual(JSON.parse(text).accounts, smallBackup.accounts)
  })

  it('is damaged when it is truncated, or when anything in it is changed', async (t) => {
    const text = await textOf()
    for (const spoilt of [
      text.slice(0, -2),
      text.replace('"port":22', '"port":23'),
      text.replace('admin', 'nobody'),
      '',
    ]) {
      assert.notEqual(spoilt, text)
      await assert.rejects(read(await fileWith(t, spoilt)), (error) => {
        return error instanceof DamagedFileError && error.advice === 'use another backup'
      })
    }
  })

  it('is damaged when its accounts are invalid although its checksum is right', async (t) => {
    const accounts = {
      ...smallBackup.accounts,
      users: [{ name: 'admin' }],
    } as unknown as typeof smallBackup.accounts
    const path = await fileWith(t, await textOf({ ...smallBackup, accounts }))
    await assert.rejects(read(path), {
      code: 'damaged_data',
      reason: 'it holds an account that is not complete',
    })
  })

  it('is unpacked when it is gzip, by its content alone', async (t) => {
    const text = await textOf()
    const path = await fileWith(t, gzipSync(text))
    const { records, ...others } = await read(path)
    const plain = await read(await fileWith(t, text))
    assert.deepEqual([...records], [...plain.records])
    assert.deepEqual(others, (({ records: _, ...rest }) => rest)(plain))
  })

  it('is damaged when its gzip is damaged or cut off', async (t) => {
    const packed = gzipSync(await textOf())
    const flipped = Buffer.from(packed)
    flipped[40] = (flipped[40] ?? 0) ^ 0xff
    for (const bytes of [packed.subarray(0, -20), packed.subarray(0, 30), flipped]) {
      await assert.rejects(read(await fileWith(t, bytes)), (error) => {
        return error instanceof DamagedFileError && error.advice === 'use another backup'
      })
    }
  })

  it('cannot be a folder', async (t) => {
    const inner = join(await temporaryFolder(t), 'folder')
    await mkdir(inner)
    await assert.rejects(read(inner), /it is not a plain file; a folder is named with --data/)
  })

  it('that is missing or unreadable is reported with the system error code', async (t) => {
    const isUnreadable = (code: string) => (error: unknown) =>
      error instanceof InputUnreadableError && error.message.includes(`(${code})`)
    await assert.rejects(read(join(await temporaryFolder(t), 'none')), isUnreadable('ENOENT'))
    const files = createFailingFiles()
    failOn(files, 'open', 'backup.json', 'EACCES')
    await assert.rejects(read(await fileWith(t, await textOf()), files), isUnreadable('EACCES'))
  })
})

describe('describeBackup', () => {
  it('counts records and accounts of both kinds', () => {
    assert.equal(describeBackup(smallBackup), '2 records and 2 accounts')
    const accounts = { ...smallBackup.accounts, clients: [] }
    assert.equal(describeBackup({ ...smallBackup, count: 1, accounts }), '1 record and 1 account')
  })
})
