import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { describe, it } from 'node:test'
import { createKeys, newKeysCommand, readKeys, type StoredKey, toSigningKey } from '../../src/auth/keys.ts'
import { type Claims, signToken, verifyToken } from '../../src/auth/signed-token.ts'
import { DamagedFileError } from '../../src/errors.ts'
import { dataFiles } from '../../src/files/data-folder.ts'
import { createJsonDocument } from '../../src/files/json-document.ts'
import type { DataFolder } from '../../src/files/owned-folder.ts'
import { KEYS_MAX } from '../../src/limits.ts'
import { openedFolder } from '../support/temporary-folder.ts'

const claims = { iss: 'connbook', sub: 'a', aud: 'api', iat: 0, exp: 1, jti: 'j', gen: 1 } as const
const key = (id: string, byte: number) => ({ id, secret: Buffer.alloc(32, byte).toString('base64url') })

function writeKeys(folder: DataFolder, content: unknown): Promise<void> {
  const path = folder.file(dataFiles.keys)
  return createJsonDocument(
    path,
    { format: 'connbook keys', version: 1, parse: (input) => input },
    '',
    folder.files,
  ).write(content)
}

function sign(keys: readonly StoredKey[]): string {
  return signToken(claims, toSigningKey(keys[0] ?? assert.fail('no key')))
}

function verify(token: string, keys: readonly StoredKey[]): Claims | undefined {
  return verifyToken(token, keys.map(toSigningKey))
}

describe('the signing keys', () => {
  it('are written to a file that nobody else can read', async (t) => {
    const folder = await openedFolder(t)
    const umask = process.umask(0)
    t.after(() => void process.umask(umask))
    assert.equal((await createKeys(folder)).length, 1)
    assert.equal((await stat(folder.file(dataFiles.keys))).mode & 0o777, 0o600)
  })

  it('are read back as they were created', async (t) => {
    const folder = await openedFolder(t)
    const token = sign(await createKeys(folder))
    assert.deepEqual(verify(token, await readKeys(folder, true)), claims)
  })

  it('are ignored in a folder that is not yet in use', async (t) => {
    const folder = await openedFolder(t)
    await createKeys(folder)
    assert.deepEqual(await readKeys(folder, false), [])
    await writeFile(folder.file(dataFiles.keys), 'half-made')
    assert.deepEqual(await readKeys(folder, false), [])
  })

  it('differ each time they are created, which ends every token', async (t) => {
    const folder = await openedFolder(t)
    const token = sign(await createKeys(folder))
    const keys = await createKeys(folder)
    assert.equal(verify(token, keys), undefined)
    assert.deepEqual(verify(sign(keys), await readKeys(folder, true)), claims)
  })

  it('sign with the first and verify with any', async (t) => {
    const folder = await openedFolder(t)
    await writeKeys(folder, [key('old', 1)])
    const old = sign(await readKeys(folder, true))
    await writeKeys(folder, [key('new', 2), key('old', 1)])
    const keys = await readKeys(folder, true)
    const [header = ''] = sign(keys).split('.')
    assert.equal(JSON.parse(Buffer.from(header, 'base64url').toString()).kid, 'new')
    assert.deepEqual(verify(old, keys), claims)
    await writeKeys(folder, [key('new', 2)])
    assert.equal(verify(old, await readKeys(folder, true)), undefined)
  })

  it('have all members that were stored', async (t) => {
    const folder = await openedFolder(t)
    const stored = [
      { ...key('new', 2), created: 9, ttl: 8, serverTtl: 7 },
      { ...key('old', 1), until: 10 },
    ]
    await writeKeys(folder, stored)
    assert.deepEqual(await readKeys(folder, true), stored)
  })

  it('are damage if a required file is missing, and are not created then', async (t) => {
    const folder = await openedFolder(t)
    await assert.rejects(readKeys(folder, true), DamagedFileError)
    await assert.rejects(stat(folder.file(dataFiles.keys)), { code: 'ENOENT' })
  })

  it('come with an error that advises a command', async (t) => {
    const folder = await openedFolder(t)
    const command = newKeysCommand(folder)
    await assert.rejects(readKeys(folder, true), ({ message }) => message.endsWith(` run: ${command}`))
  })

  const contents: Record<string, unknown> = {
    'an object instead of a list': {},
    'an entry that is not a key': [null],
    'a key without an id': [{ secret: key('a', 1).secret }],
    'a key without a secret': [{ id: 'a' }],
    'a key that is too short': [{ id: 'a', secret: Buffer.alloc(31).toString('base64url') }],
    'a key whose end is not a number': [key('a', 1), { ...key('b', 2), until: '5' }],
    'a key whose end is beyond any date': [key('a', 1), { ...key('b', 2), until: 1e13 }],
    'a negative token lifetime': [{ ...key('a', 1), ttl: -1 }],
    'a time with a fraction of a second': [{ ...key('a', 1), created: 0.5 }],
    'a key with an unknown member': [{ ...key('a', 1), algorithm: 'x' }],
    'a first key that has been superseded': [{ ...key('a', 1), until: 5 }, key('b', 2)],
    'too many keys': Array.from({ length: KEYS_MAX + 1 }, (_, i) => key(`${i}`, i)),
    'a good key before a bad one': [key('a', 1), { id: 'b', secret: '' }],
  }
  for (const [what, content] of Object.entries(contents)) {
    it(`refuses ${what}`, async (t) => {
      const folder = await openedFolder(t)
      await writeKeys(folder, content)
      await assert.rejects(readKeys(folder, true), DamagedFileError)
    })
  }

  const damages: Record<string, (text: string) => string> = {
    'cut off': (text) => text.slice(0, -20),
    empty: () => '',
    'no JSON': () => 'keys',
    'changed by one letter': (text) => text.replace('"secret": "', '"secret": "A'),
    'of another kind': (text) => text.replace('connbook keys', 'connbook accounts'),
    'of a newer version': (text) => text.replace('"version": 1', '"version": 2'),
  }
  for (const [what, damage] of Object.entries(damages)) {
    it(`refuses a file that is ${what}, names it, and does not change it`, async (t) => {
      const folder = await openedFolder(t)
      await createKeys(folder)
      const path = folder.file(dataFiles.keys)
      const damaged = damage(await readFile(path, 'utf8'))
      await writeFile(path, damaged)
      await assert.rejects(
        readKeys(folder, true),
        (error) => error instanceof DamagedFileError && error.path === path,
      )
      assert.equal(await readFile(path, 'utf8'), damaged)
    })
  }
})
