import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { openSealer, Sealer, WrongKeyFileError } from '../../src/cluster/sealed-text.ts'
import { NewerFormError, UsageError } from '../../src/errors.ts'
import { KeyExposedError } from '../../src/files/named-file.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const PLACE = '/connbook/auth/keys'
const sealer = new Sealer(Buffer.alloc(32, 1), '/etc/key')
const other = new Sealer(Buffer.alloc(32, 2), '/etc/other')

/** Changes a member of a sealed text. */
function altered(sealed: string, change: Record<string, unknown>): string {
  return JSON.stringify({ ...(JSON.parse(sealed) as object), ...change })
}

describe('a sealed text', () => {
  it('is opened as it was sealed, and shows nothing of it', () => {
    for (const text of ['', 'top secret: ä 𝄞', 'x'.repeat(100_000)]) {
      const sealed = sealer.seal(text, PLACE)
      assert.equal(sealer.open(sealed, PLACE), text)
      if (text !== '') assert.doesNotMatch(sealed, /top secret|x{10}/)
    }
  })

  it('never has the same nonce', () => {
    const nonces = Array.from(
      { length: 100 },
      () => /"nonce":"([^"]{16})"/.exec(sealer.seal('x', PLACE))?.[1],
    )
    assert.equal(new Set(nonces).size, 100)
  })

  it('is not opened with another key, and the error says what to do', () => {
    assert.throws(
      () => other.open(sealer.seal('x', PLACE), PLACE),
      (error) => {
        assert.ok(error instanceof WrongKeyFileError)
        assert.equal(
          error.message,
          'Cannot use --etcd-key-file "/etc/other": the signing keys in etcd were sealed with another key; give each node the same file',
        )
        return true
      },
    )
  })

  it('is opened only in its place, and only as it was', () => {
    const sealed = sealer.seal('secret', PLACE)
    const { sealed: bytes } = JSON.parse(sealed) as { sealed: string }
    const flipped = Buffer.from(bytes, 'base64url')
    flipped.writeUInt8(flipped.readUInt8(0) ^ 1)
    const changed: Record<string, () => unknown> = {
      place: () => sealer.open(sealed, '/other/auth/keys'),
      text: () => sealer.open(altered(sealed, { sealed: flipped.toString('base64url') }), PLACE),
      nonce: () => sealer.open(altered(sealed, { nonce: 'AAAAAAAAAAAAAAAA' }), PLACE),
      end: () => sealer.open(altered(sealed, { sealed: bytes.slice(0, -4) }), PLACE),
    }
    for (const [what, open] of Object.entries(changed))
      assert.throws(open, { name: 'SyntaxError', message: /^it was changed since/ }, what)
  })

  it('is refused when it is another text, or that of a newer connbook', () => {
    const sealed = sealer.seal('secret', PLACE)
    const none = [
      '',
      '{',
      '[]',
      '{}',
      altered(sealed, { nonce: 'AAAA' }),
      altered(sealed, { sealed: 'AAAA' }),
    ]
    for (const text of [...none, altered(sealed, { key: 1 }), altered(sealed, { version: 0 })])
      assert.throws(() => sealer.open(text, PLACE), SyntaxError, text)
    for (const change of [{ version: 2 }, { salt: 'x' }])
      assert.throws(() => sealer.open(altered(sealed, change), PLACE), NewerFormError)
  })
})

describe('the file of a key', () => {
  it('holds 64 hex digits, in upper or lower case', async (t) => {
    const path = join(await temporaryFolder(t), 'key')
    await writeFile(path, `${'Ab'.repeat(32)}\n`, { mode: 0o600 })
    const sealed = openSealer(path).seal('x', PLACE)
    assert.equal(new Sealer(Buffer.alloc(32, 0xab), '').open(sealed, PLACE), 'x')
  })

  it('is refused if it holds anything else', async (t) => {
    const path = join(await temporaryFolder(t), 'key')
    for (const text of ['ab'.repeat(31), 'ab'.repeat(33), 'xy'.repeat(32), '\n', 'ab'.repeat(10_000)]) {
      await writeFile(path, text, { mode: 0o600 })
      assert.throws(() => openSealer(path), UsageError)
    }
    assert.throws(
      () => openSealer(`${path}.missing`),
      /there is no such file .*name a file with 64 hex digits/,
    )
  })

  it('is refused if others can read it', async (t) => {
    const path = join(await temporaryFolder(t), 'key')
    await writeFile(path, 'ab'.repeat(32))
    await chmod(path, 0o644)
    assert.throws(() => openSealer(path), KeyExposedError)
  })
})
