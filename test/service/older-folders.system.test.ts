import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { chmod, cp, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { logIn } from '../support/api.ts'
import { eventually } from '../support/eventually.ts'
import { runExecutable, startExecutable } from '../support/executable.ts'
import { createClient } from '../support/http-client.ts'
import { draft } from '../support/store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/**
 * Folders and backups that connbook of the commits 7f5f247 ("plain", without labels, and "labels") and 089af0ed ("reasons")
 * wrote, each ended by a kill, with the start of a frame behind its journal. `expected.jsonl` is what its own `ls` printed.
 */
const older = join(import.meta.dirname, 'older-folders')
const password = 'older but right'
const versions = {
  plain: { journal: 2, snapshot: 1, accounts: 1, backups: { 'backup.json': 1 } },
  labels: { journal: 3, snapshot: 2, accounts: 1, backups: { 'backup.json': 2 } },
  reasons: { journal: 4, snapshot: 2, accounts: 2, backups: { 'backup.json': 3, 'with-history.json': 4 } },
} as const
const newest = { journal: 4, snapshot: 2, accounts: 2 }

async function openOlder(t: TestContext, name: string) {
  const folder = join(await temporaryFolder(t), 'data')
  await cp(join(older, name, 'data'), folder, { recursive: true })
  await chmod(folder, 0o700)
  const files = await readdir(folder)
  for (const file of files) await chmod(join(folder, file), 0o600)
  const expected = (await readFile(join(older, name, 'expected.jsonl'), 'utf8')).trimEnd().split('\n')
  const textOf = (file: string) => readFile(join(folder, file), 'utf8')
  const versionIn = async (file: string) =>
    Number(/"(?:journal|version)": ?(\d)/.exec(await textOf(file))?.[1])
  return {
    folder,
    expected: expected.map((line) => JSON.parse(line)),
    textOf,
    async forms() {
      return {
        journal: await versionIn('journal.jsonl'),
        snapshot: await versionIn('snapshot.json'),
        accounts: await versionIn('accounts.json'),
      }
    },
    async serve() {
      const { url, stop, stderr } = await startExecutable(t, ['--data', folder])
      const ask = createClient(url, await logIn(url, { username: 'admin', password }))
      const list = async () =>
        (await ask('GET', '/configurations/')).json<{ configurations: unknown[] }>().configurations
      return { ask, list, stop, stderr }
    },
  }
}

for (const [name, { backups, ...forms }] of Object.entries(versions)) {
  describe(`the folder "${name}" of an older connbook`, () => {
    it('is served with all that it holds, and keeps its forms until something changes', async (t) => {
      const { expected, textOf, serve, forms: found } = await openOlder(t, name)
      const before = await textOf('journal.jsonl')
      const { ask, list, stop } = await serve()
      assert.deepEqual(await list(), expected)
      const { history } = (await ask('GET', '/v1/history/later')).json<{ history: { by?: string }[] }>()
      assert.deepEqual(
        history.map(({ by }) => by),
        ['root'],
      )
      await stop()
      assert.deepEqual(await found(), forms)
      // But for the torn frame, which is kept aside.
      const torn = '0badc0de 41 [{"ad'
      assert.equal(`${await textOf('journal.jsonl')}${torn}`, before)
    })

    it('has the newest forms after a change, with all that it held', async (t) => {
      const { folder, expected, serve, forms: found } = await openOlder(t, name)
      const { ask, list, stop, stderr } = await serve()
      assert.equal((await ask('POST', '/configurations/', { body: draft('new') })).status, 200)
      if (forms.journal < newest.journal)
        await eventually('a snapshot is written', () => stderr().includes('"snapshot_written"'))
      const listed = await list()
      assert.deepEqual(listed.slice(0, -1), expected)
      await stop()
      const added = await runExecutable(['user', 'add', 'new', '--data', folder], { input: `${password}\n` })
      assert.equal(added.code, 0, added.stderr)
      assert.deepEqual(await found(), newest)
      const again = await serve()
      assert.deepEqual(await again.list(), listed)
    })

    for (const [backup, version] of Object.entries(backups))
      it(`has a ${backup} that is restored, and written anew in the newest form`, async (t) => {
        const path = join(older, name, backup)
        assert.ok(
          (await readFile(path, 'utf8')).startsWith(`{"format":"connbook backup","version":${version},`),
        )
        const room = await temporaryFolder(t)
        const [folder, target] = [join(room, 'restored'), join(room, 'again.json')]
        const restored = await runExecutable(['restore', path, '--data', folder])
        assert.equal(restored.code, 0, restored.stderr)
        const withHistory = version === 4 ? ['--with-history'] : []
        assert.equal((await runExecutable(['backup', target, '--data', folder, ...withHistory])).code, 0)
        const [before, after] = await Promise.all(
          [path, target].map(async (file) => JSON.parse(await readFile(file, 'utf8'))),
        )
        assert.equal(after.version, 4)
        for (const member of ['records', 'accounts', 'history'])
          assert.deepEqual(after[member], before[member], member)
      })
  })
}
