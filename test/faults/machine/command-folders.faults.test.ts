import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { chmod, cp, mkdir, readdir, rm, truncate, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { photograph } from '../../commands/photograph.ts'
import { type Finished, runExecutable, startExecutable } from '../../support/executable.ts'
import { mountSmallDisk, noNamespaces, withReadOnly } from '../../support/namespace.ts'
import { asPlainAccount, giveToPlainAccount } from '../../support/plain-account.ts'
import { usedFolder } from '../../support/service.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const KIB = 1024
const secret = 'a long enough secret'
const reading = [
  ['ls', '--names'],
  ['get', 'web1'],
  ['export', '--format', 'csv'],
  ['history'],
  ['user', 'list'],
]
const changing = [
  ['add', 'web2', 'u@h:22'],
  ['set', 'web1', '--port', '23'],
  ['rm', 'web1'],
  ['user', 'add', 'eve'],
  ['client', 'add', 'ci'],
  ['keys', 'rotate'],
]

/** A folder with the record `web1`, and what runs commands on it. */
async function setUp(t: TestContext, through: readonly string[] = []) {
  const data = join(await temporaryFolder(t), 'data')
  await cp(await usedFolder(t), data, { recursive: true })
  const run = (words: readonly string[], by = through) =>
    runExecutable([...words, '--data', data], { input: secret, through: by })
  assert.equal((await run(['add', 'web1', 'u@h:22'], [])).code, 0)
  return { data, run }
}

/** One line of standard error, perhaps after lines of the log, and no other output. */
function assertRefused({ code, stdout, stderr }: Finished, expected: number, message: RegExp) {
  assert.deepEqual([code, stdout], [expected, ''], stderr)
  assert.match(stderr, message)
  assert.match(stderr, /^(?:\d{4}-[^\n]+\n)*connbook: [^\n]+\n$/)
}

describe('a command on a folder without a server', () => {
  it('reads from a read-only file system, and refuses each change with exit code 1', {
    skip: noNamespaces,
  }, async (t) => {
    const { data, run } = await setUp(t)
    const before = await photograph(data)
    for (const words of reading) {
      const { code, stderr } = await run(words, withReadOnly(data))
      assert.equal(code, 0, `${words.join(' ')}: ${stderr}`)
    }
    for (const words of changing)
      assertRefused(await run(words, withReadOnly(data)), 1, /"[^"]+data": the file system is read-only; /)
    assert.deepEqual(await photograph(data), before)
  })

  it('refuses a folder that its owner may not write, with exit code 1', async (t) => {
    const { data, run } = await setUp(t)
    for (const folder of [dirname(data), data]) await giveToPlainAccount(folder)
    await chmod(data, 0o500)
    for (const words of [...reading, ...changing])
      assertRefused(await run(words, asPlainAccount), 1, /data.*\(EACCES|EACCES|may not|mode 0500/)
    await chmod(data, 0o700)
    assert.equal((await run(['ls', '--names'], asPlainAccount)).stdout, 'web1\n')
  })

  it('refuses a change when the disk is full, tears nothing, and works once there is room', {
    skip: noNamespaces,
  }, async (t) => {
    const used = await usedFolder(t)
    const data = join(await temporaryFolder(t), 'data')
    await mkdir(data, { mode: 0o700 })
    const disk = await mountSmallDisk(t, data, 128 * KIB)
    for (const name of await readdir(used)) await cp(join(used, name), join(disk.outside, name))
    const run = (words: readonly string[]) =>
      runExecutable([...words, '--data', data], { input: secret, through: disk.through })
    assert.equal((await run(['add', 'web1', 'u@h:22'])).code, 0)
    const filler = join(disk.outside, 'filler')
    await writeFile(filler, Buffer.alloc(256 * KIB)).catch(({ code }) => assert.equal(code, 'ENOSPC'))

    // The rest of the last page of the journal takes some.
    const done: string[] = ['web1']
    let refused: Finished | undefined
    for (let i = 0; refused === undefined; i += 1) {
      assert.ok(i < 200, 'it is never full')
      const answer = await run(['add', `more${i}`, 'u@h:22', '--label', `note=${'x'.repeat(200)}`])
      if (answer.code === 0) done.push(`more${i}`)
      else refused = answer
    }
    assertRefused(refused, 1, /ENOSPC|no room/)
    for (const words of changing) {
      if (words[0] === 'set' || words[0] === 'rm') continue
      assertRefused(await run(words), 1, /ENOSPC|no room/)
    }
    assert.deepEqual((await run(['ls', '--names'])).stdout.trim().split('\n').sort(), done.sort())
    assert.equal((await run(['check'])).code, 0)

    await truncate(filler, 0)
    for (const words of changing) assert.equal((await run(words)).code, 0, words.join(' '))
    assert.equal((await run(['check'])).code, 0)
  })

  it('makes no folder on a full disk, and one once there is room', { skip: noNamespaces }, async (t) => {
    const parent = join(await temporaryFolder(t), 'parent')
    await mkdir(parent)
    for (let pages = 0; ; pages += 1) {
      const disk = await mountSmallDisk(t, parent, 64 * KIB)
      const filler = join(disk.outside, 'filler')
      await writeFile(filler, Buffer.alloc(128 * KIB)).catch(({ code }) => assert.equal(code, 'ENOSPC'))
      await truncate(filler, (16 - pages) * 4 * KIB)
      const run = (words: readonly string[]) =>
        runExecutable([...words, '--data', join(parent, 'data')], { input: secret, through: disk.through })
      const first = await run(['add', 'web1', 'u@h:22'])
      if (first.code === 0) {
        assert.ok(pages > 2, 'there was always room')
        return
      }
      assertRefused(first, 1, /ENOSPC|no room/)
      assert.deepEqual(await readdir(disk.outside), ['filler'])
      await rm(filler)
      assert.equal((await run(['add', 'web1', 'u@h:22'])).code, 0)
    }
  })

  it('says that a folder is not there which was removed under its server; the server stops as asked', async (t) => {
    const { data, run } = await setUp(t)
    const server = await startExecutable(t, ['--data', data])
    await rm(data, { recursive: true })
    for (const words of [...reading, ['set', 'web1', '--port', '1'], ['rm', 'web1']])
      assertRefused(await run(words), 1, /Cannot find anything of connbook in "[^"]+data"; /)
    assert.equal(await server.stop(), 0)
    assert.equal((await run(['add', 'web1', 'u@h:22'])).code, 0)
  })
})
