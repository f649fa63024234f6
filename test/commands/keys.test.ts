import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { chmod, cp, mkdir, readdir, readFile, rm, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, describe, it, type TestContext } from 'node:test'
import { rotateKeys, secondsOf } from '../../src/auth/key-rotation.ts'
import { keysDocument, readKeys } from '../../src/auth/keys.ts'
import { dataFiles, dataPaths } from '../../src/files/data-folder.ts'
import { KEYS_MAX } from '../../src/limits.ts'
import { runCommand } from '../support/command.ts'
import { start } from '../support/service.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { photograph } from './photograph.ts'

const used = await temporaryFolder({ after })
await (await start({ after }, { folder: used })).stop()

/** A copy of the folder of a stopped server. */
async function copyUsed(t: TestContext) {
  const folder = await temporaryFolder(t)
  await cp(used, folder, { recursive: true })
  const paths = dataPaths(folder)
  return {
    folder,
    keys: () => readKeys(paths, true),
    store: (keys: Awaited<ReturnType<typeof readKeys>>) => keysDocument(paths).write(keys),
    run: (words: string, outputError?: 'ENOSPC' | 'EPIPE') =>
      runCommand(['keys', ...words.split(' '), '--data', folder], { outputError }),
    path: paths.file(dataFiles.keys),
  }
}

describe('connbook keys', () => {
  it('list shows the state of each key, since when and until when, and never its secret', async (t) => {
    const { keys, store, run } = await copyUsed(t)
    const now = secondsOf(Date.now())
    const [key = assert.fail()] = await keys()
    await store([
      { ...key, id: 'new', created: 1_800_000_000 },
      { ...key, id: 'old', created: 0, until: now + 1000 },
      { id: 'ended', secret: key.secret, until: 1_700_000_000 },
    ])
    const { code, stdout, stderr } = await run('list')
    assert.deepEqual([code, stderr], [0, ''])
    const end = new Date((now + 1000) * 1000).toISOString().slice(0, 19)
    assert.deepEqual(stdout.split('\n'), [
      'new  since 2027-01-15T08:00:00Z  signs',
      `old  since 1970-01-01T00:00:00Z  verifies until ${end}Z`,
      '',
    ])
    const shown = [stdout, (await run('rotate')).stdout, (await run('revoke-all')).stdout].join()
    assert.ok(![key, ...(await keys())].some(({ secret }) => shown.includes(secret)))
  })

  it('check reports superseded keys too', async (t) => {
    const { folder, run } = await copyUsed(t)
    const check = async () => (await runCommand(['check', '--data', folder])).stdout
    assert.match(await check(), /keys\.json +1 signing key\n/)
    await run('rotate')
    assert.match(
      await check(),
      /keys\.json +1 signing key; 1 superseded key to verify until 2.+Z at the latest\n/,
    )
    await run('rotate')
    assert.match(await check(), /keys\.json +1 signing key; 2 superseded keys to verify until /)
  })

  it('rotate loses no key when run concurrently', async (t) => {
    // No command gives up, however busy the machine is.
    t.mock.method(performance, 'now', () => 0)
    const { keys, run } = await copyUsed(t)
    const before = await keys()
    const all = await Promise.all([1, 2, 3].map(() => run('rotate')))
    assert.deepEqual(
      all.map(({ code }) => code),
      [0, 0, 0],
    )
    const found = await keys()
    const shown = all.map(({ stdout }) => /Key (\w+) signs/.exec(stdout)?.[1])
    assert.deepEqual(found.map(({ id }) => id).sort(), [...shown, before[0]?.id].sort())
  })

  it('rotate drops expired keys, and refuses to exceed the limit of keys', async (t) => {
    const { keys, path, run, store } = await copyUsed(t)
    const now = secondsOf(Date.now())
    let all = await keys()
    while (all.length < KEYS_MAX) all = rotateKeys(all, now)
    await store(all)
    const before = await readFile(path, 'utf8')
    const { code, stdout, stderr } = await run('rotate')
    assert.deepEqual([code, stdout], [1, ''])
    assert.match(
      stderr,
      /^connbook: Cannot rotate the keys: 16 of them verify, .+; wait until .+Z, .+ "connbook keys revoke-all"\n$/,
    )
    assert.equal(await readFile(path, 'utf8'), before)
    await store(all.map((key, i) => (i === KEYS_MAX - 1 ? { ...key, until: now } : key)))
    assert.equal((await run('rotate')).code, 0)
    const found = await keys()
    assert.equal(found.length, KEYS_MAX)
    assert.ok(!found.some(({ id }) => id === all.at(-1)?.id))
  })

  it('find a new key where there is none, as after a start', async (t) => {
    const { folder, keys, run, store } = await copyUsed(t)
    for (const isWithoutRevocations of [false, true]) {
      await store([])
      if (isWithoutRevocations) await unlink(join(folder, dataFiles.revocations))
      assert.match((await run('list')).stdout, /^\w+ {2}since \S+ {2}signs\n$/)
      assert.equal((await keys()).length, 1)
    }
    assert.equal((await run('rotate')).code, 0)
    assert.equal((await keys()).length, 2)
  })

  const faults: Record<
    string,
    [prepare: (folder: string) => Promise<void>, code: number, message: RegExp, verbs?: readonly string[]]
  > = {
    'damaged keys': [
      (folder) => writeFile(join(folder, dataFiles.keys), '{'),
      65,
      /^connbook: Cannot read "\/.+\/keys\.json": it is no .+ at byte 0; .+ run: .+\n$/,
    ],
    'no keys file': [
      (folder) => unlink(join(folder, dataFiles.keys)),
      65,
      /^connbook: Cannot read "\/.+\/keys\.json": the file is missing at byte 0; .+\n$/,
    ],
    'no accounts': [
      (folder) => unlink(join(folder, dataFiles.accounts)),
      65,
      /^connbook: Cannot read "\/.+\/accounts\.json": the file is missing at byte 0; .+\n$/,
    ],
    'unreadable revocations': [
      (folder) => writeFile(join(folder, dataFiles.revocations), 'x'),
      65,
      /^connbook: Cannot read "\/.+\/revocations\.jsonl": .+\n$/,
      ['rotate'],
    ],
    'keys that others can read': [
      (folder) => chmod(join(folder, dataFiles.keys), 0o644),
      1,
      /^connbook: Cannot use "\/.+\/keys\.json": .+; run: chmod 600 .+\n$/,
    ],
    'an incomplete restore': [
      (folder) => mkdir(join(folder, 'restore-20260101T000000Z-012345.begun')),
      1,
      /^connbook: Cannot use .+: a restore is not complete, .+\n$/,
    ],
    'no file of connbook': [
      async (folder) => {
        for (const name of await readdir(folder)) await rm(join(folder, name))
      },
      1,
      /^connbook: Cannot find anything of connbook in .+\n$/,
    ],
  }
  for (const [what, [prepare, expected, message, verbs = ['rotate', 'revoke-all', 'list']]] of Object.entries(
    faults,
  )) {
    it(`refuses a folder with ${what}, and changes nothing`, async (t) => {
      const { folder, run } = await copyUsed(t)
      await prepare(folder)
      const before = await photograph(folder)
      for (const verb of verbs) {
        const { code, stdout, stderr } = await run(verb)
        assert.deepEqual([code, stdout], [expected, ''], verb)
        assert.match(stderr, message)
      }
      assert.deepEqual(await photograph(folder), before)
    })
  }

  const misuses: Record<string, RegExp> = {
    '': /^connbook: Unknown command "keys"; it takes rotate, revoke-all, list\n$/,
    replace: /^connbook: Unknown command "keys replace"; it takes rotate, revoke-all, list\n$/,
    revoke: /^connbook: Unknown command "keys revoke"; did you mean keys revoke-all\?\n$/,
    'rotate now': /^connbook: Write it as: connbook keys rotate\n$/,
    'revoke-all admin': /^connbook: Write it as: connbook keys revoke-all\n$/,
    'list --port=1': /^connbook: Unknown flag "--port"/,
  }
  for (const [words, message] of Object.entries(misuses)) {
    it(`${words}: exits with 2, and changes nothing`, async (t) => {
      const { folder, path } = await copyUsed(t)
      const before = await readFile(path, 'utf8')
      const { code, stdout, stderr } = await runCommand([
        'keys',
        ...words.split(' ').filter(Boolean),
        '--data',
        folder,
      ])
      assert.deepEqual([code, stdout], [2, ''])
      assert.match(stderr, message)
      assert.equal(await readFile(path, 'utf8'), before)
    })
  }

  it('exits with 1 when standard output cannot be written', async (t) => {
    for (const outputError of ['ENOSPC', 'EPIPE'] as const) {
      const { run } = await copyUsed(t)
      for (const [verb, what] of [
        ['rotate', 'what was done'],
        ['revoke-all', 'what was done'],
        ['list', 'the keys'],
      ]) {
        const { code, stderr } = await run(verb ?? '', outputError)
        assert.equal(code, 1)
        assert.match(stderr, new RegExp(`^connbook: Cannot show ${what} \\((ENOSPC|EPIPE)\\)\n$`))
      }
    }
  })
})
