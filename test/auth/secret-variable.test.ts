import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { readSecretVariable } from '../../src/auth/secret-variable.ts'
import { UsageError } from '../../src/errors.ts'
import { PASSWORD_BYTES_MAX } from '../../src/limits.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const refused = (message: string | RegExp) => (error: unknown) =>
  error instanceof UsageError &&
  (typeof message === 'string' ? error.message === message : message.test(error.message))

async function inFile(t: TestContext, content: string | Uint8Array) {
  const path = join(await temporaryFolder(t), 'secret')
  await writeFile(path, content)
  return { path, read: () => readSecretVariable('KEY', { KEY_FILE: path }) }
}

describe('the secret of a variable', () => {
  it('is its value, or that of a file, without a byte order mark and one line end', async (t) => {
    assert.equal(await readSecretVariable('KEY', { KEY: 'a', KEY_FILE: '' }), 'a')
    const rows = {
      ...{ a: 'a', 'a\n': 'a', 'a\r\n': 'a', '\ufeffa': 'a', '\ufeffa\r\n': 'a' },
      ...{ 'a\n\n': 'a\n', ' é ': ' é ', '\ufeff\ufeffa': '\ufeffa', 'a\ufeff': 'a\ufeff', 'a\r': 'a\r' },
    }
    for (const [content, expected] of Object.entries(rows)) {
      assert.equal(await (await inFile(t, content)).read(), expected)
      assert.equal(await readSecretVariable('KEY', { KEY: content }), expected)
    }
  })

  it('is not there when neither is set', async () => {
    assert.equal(await readSecretVariable('KEY', {}), undefined)
    assert.equal(await readSecretVariable('KEY', { KEY: '', KEY_FILE: '', OTHER: 'x' }), undefined)
  })

  it('is not guessed when both are set', async (t) => {
    const { path } = await inFile(t, 'b')
    await assert.rejects(
      readSecretVariable('KEY', { KEY: 'a', KEY_FILE: path }),
      refused('Cannot use both KEY and KEY_FILE; set one of them'),
    )
  })

  it('is refused when it is empty, too long or not UTF-8, without being shown', async (t) => {
    const longest = 'x'.repeat(PASSWORD_BYTES_MAX)
    for (const content of [`${longest}\n`, `\ufeff${longest}\r\n`])
      assert.equal(await (await inFile(t, content)).read(), longest)
    assert.equal(await readSecretVariable('KEY', { KEY: longest }), longest)
    const tooLong = `it is longer than ${PASSWORD_BYTES_MAX} bytes`
    const rows = [
      ['', 'it is empty'],
      ['\n', 'it is empty'],
      ['\ufeff\r\n', 'it is empty'],
      [`${longest}x`, tooLong],
      [`${longest}x\n`, tooLong],
      ['x'.repeat(1024 * 1024), tooLong],
      [Buffer.from([0x61, 0xff]), 'it is not UTF-8'],
    ] as const
    for (const [content, why] of rows) {
      const { path, read } = await inFile(t, content)
      await assert.rejects(read(), refused(`Cannot use KEY_FILE "${path}": ${why}`))
    }
    await assert.rejects(
      readSecretVariable('KEY', { KEY: `${longest}x` }),
      refused(`Cannot use KEY: ${tooLong}`),
    )
    // So Node gives a value with other bytes.
    await assert.rejects(
      readSecretVariable('KEY', { KEY: 'a\ufffd' }),
      refused('Cannot use KEY: it is not UTF-8'),
    )
  })

  it('is refused when its file is missing or a folder, with the reason', async (t) => {
    const folder = await temporaryFolder(t)
    const read = (path: string) => readSecretVariable('KEY', { KEY_FILE: path })
    await assert.rejects(read(join(folder, 'none')), refused(/^Cannot read KEY_FILE ".*none": ENOENT/))
    await assert.rejects(read(folder), refused(/^Cannot read KEY_FILE ".*": EISDIR/))
    await assert.rejects(
      read('~/key'),
      refused(/^Cannot read KEY_FILE "~\/key": no shell has replaced the "~" at its beginning; write "\//),
    )
  })
})
