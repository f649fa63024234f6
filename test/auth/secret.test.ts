import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import {
  digestSecret,
  faultOfChosen,
  generateSecret,
  isSameText,
  readSecretVariable,
} from '../../src/auth/secret.ts'
import { UsageError } from '../../src/errors.ts'
import { PASSWORD_BYTES_MAX } from '../../src/limits.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

describe('generateSecret', () => {
  it('returns 43 random letters and digits of the whole alphabet, never the same', () => {
    const secrets = Array.from({ length: 200 }, generateSecret)
    for (const secret of secrets) assert.match(secret, /^[A-Za-z0-9]{43}$/)
    assert.equal(new Set(secrets).size, secrets.length)
    assert.equal(new Set(secrets.join('')).size, 62)
  })
})

describe('digestSecret', () => {
  it('returns the SHA-256 digest with the name of the algorithm', () => {
    const expected = createHash('sha256').update('secret').digest('base64url')
    assert.equal(digestSecret('secret'), `sha256:${expected}`)
  })
})

describe('isSameText', () => {
  const rows: readonly (readonly [a: string, b: string, expected: boolean])[] = [
    ['', '', true],
    ['abc', 'abc', true],
    ['é', 'é', true],
    ['abc', 'abd', false],
    ['abc', 'ab', false],
    ['abc', '', false],
    ['é', 'e\u0301', false],
    ['é', 'ab', false],
  ]
  for (const [a, b, expected] of rows) {
    it(`says ${expected} for ${JSON.stringify(a)} and ${JSON.stringify(b)}`, () => {
      assert.equal(isSameText(a, b), expected)
      assert.equal(isSameText(b, a), expected)
    })
  }
})

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

describe('a chosen password or secret', () => {
  it('has at least 8 or 16 characters, at most 1,024 bytes, and is not the name of the account', () => {
    for (const [kind, charactersMin] of [
      ['user', 8],
      ['client', 16],
    ] as const) {
      for (const character of ['x', 'é', '😀']) {
        const shortest = character.repeat(charactersMin)
        assert.equal(faultOfChosen(kind, shortest, 'another name'), undefined)
        assert.equal(faultOfChosen(kind, shortest), undefined)
        assert.match(faultOfChosen(kind, character.repeat(charactersMin - 1)) ?? '', /^is shorter than/)
        assert.match(faultOfChosen(kind, shortest, shortest) ?? '', /^is the (name|id) of the/)
        const longest = character.repeat(1_024 / Buffer.byteLength(character))
        assert.equal(faultOfChosen(kind, longest), undefined)
        assert.match(faultOfChosen(kind, `${longest}x`) ?? '', /^is longer than 1024 bytes/)
      }
    }
  })

  it('has nothing that cannot be seen; a refusal says what, and not where', () => {
    const refused: Record<string, RegExp> = {
      'two lines\nof text here': /^has more than one line; give one line$/,
      'two lines of text\n': /^has more than one line/,
      'two lines of text\r': /^has more than one line/,
      'a text with a\ttab': /^has an invisible character, U\+0009; leave it out$/,
      '\ufeffa text with a mark': /^has an invisible character, U\+FEFF/,
      'a text with \u200b space': /^has an invisible character, U\+200B/,
      'a text of \u202ereversed': /^has an invisible character, U\+202E/,
      'two lines\u2028of text here': /^has an invisible character, U\+2028/,
      'text of a terminal\u001b': /^has an invisible character, U\+001B/,
      ' a text with a blank': /^begins or ends with white space, U\+0020; leave it out$/,
      'a text with a blank ': /^begins or ends with white space, U\+0020/,
      'a text with a blank\u00a0': /^begins or ends with white space, U\+00A0/,
      'a text with a joiner\u200d': /^begins or ends with white space, U\+200D/,
    }
    for (const [secret, fault] of Object.entries(refused))
      for (const kind of ['user', 'client'] as const) assert.match(faultOfChosen(kind, secret) ?? '', fault)
    for (const secret of [
      'blanks between words',
      '👩‍💻👩‍💻 and more text',
      'می‌خواهم بروم به خانه',
      '❤️ for all of you ❤️',
    ])
      assert.equal(faultOfChosen('client', secret), undefined)
  })
})
