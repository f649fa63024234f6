import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cp, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { type Commit, findCommit } from '../../.build/commit.mjs'
import { version } from '../../src/version.ts'
import { missing } from '../support/debian.ts'
import { runExecutable, startExecutable } from '../support/executable.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const root = join(import.meta.dirname, '../..')
/** A minute before midnight in UTC, written in a zone where the next day has begun. */
const COMMITTED_AT = '2026-11-29T01:59:00+0200'

async function git(folder: string, ...words: string[]): Promise<string> {
  const person = ['-c', 'user.name=Somebody', '-c', 'user.email=somebody@example.net']
  const env = { ...process.env, GIT_AUTHOR_DATE: '2020-01-01T00:00:00Z', GIT_COMMITTER_DATE: COMMITTED_AT }
  return (await promisify(execFile)('git', ['-C', folder, ...person, ...words], { env })).stdout.trim()
}

/** A checkout with one commit of files that stand for those of connbook. */
async function makeCheckout(t: TestContext): Promise<{ folder: string; commit: Commit }> {
  const folder = await temporaryFolder(t)
  await git(folder, 'init', '--quiet')
  await mkdir(join(folder, 'src'))
  await writeFile(join(folder, '.gitignore'), '*.log\n')
  for (const name of ['README.md', 'package.json', 'src/main.ts'])
    await writeFile(join(folder, name), 'first\n')
  await git(folder, 'add', '.')
  await git(folder, 'commit', '--quiet', '--message', 'All')
  const hash = await git(folder, 'rev-parse', 'HEAD')
  assert.match(hash, /^[0-9a-f]{40}$/)
  return { folder, commit: { hash, day: '2026-11-28', seconds: Date.parse(COMMITTED_AT) / 1000 } }
}

describe('the commit that is built', { skip: missing('git') }, () => {
  it('is that of the checkout, with its day in UTC', async (t) => {
    const { folder, commit } = await makeCheckout(t)
    assert.deepEqual(await findCommit(folder), commit)
  })

  it('stays known when only files change that are not built, or are ignored', async (t) => {
    const { folder, commit } = await makeCheckout(t)
    for (const name of ['README.md', 'src/a.log']) await writeFile(join(folder, name), 'second\n')
    assert.deepEqual(await findCommit(folder), commit)
  })

  const changes: Record<string, (folder: string) => Promise<unknown>> = {
    'src/main.ts': (folder) => writeFile(join(folder, 'src/main.ts'), 'second\n'),
    'src/new.md': (folder) => writeFile(join(folder, 'src/new.md'), 'first\n'),
    'package.json': (folder) => rm(join(folder, 'package.json')),
  }
  for (const [name, change] of Object.entries(changes)) {
    it(`is unknown once ${name} is another, new or gone`, async (t) => {
      const { folder, commit } = await makeCheckout(t)
      await change(folder)
      assert.equal(await findCommit(folder), `${name} is not as it was committed`)
      await git(folder, 'stash', '--quiet', '--include-untracked')
      assert.deepEqual(await findCommit(folder), commit)
    })
  }

  it('is unknown in a folder without Git, also inside of another clone', async (t) => {
    const { folder } = await makeCheckout(t)
    assert.equal(await findCommit(join(folder, 'src')), 'this folder is no clone of its own')
    await rm(join(folder, '.git'), { recursive: true })
    assert.match(String(await findCommit(folder)), /^fatal: not a git repository/)
  })

  it('is unknown in a clone without a commit, and without the program git', async (t) => {
    const folder = await temporaryFolder(t)
    await git(folder, 'init', '--quiet')
    assert.match(String(await findCommit(folder)), /^fatal: /)
    const { PATH } = process.env
    t.after(() => {
      process.env.PATH = PATH
    })
    process.env.PATH = folder
    assert.equal(await findCommit(root), 'git is missing')
  })

  it('is that of the checkout for a hook of another repository, too', async (t) => {
    const [one, other] = [await makeCheckout(t), await makeCheckout(t)]
    await git(other.folder, 'commit', '--quiet', '--allow-empty', '--message', 'Another')
    await cp(join(other.folder, '.git'), join(one.folder, 'other'), { recursive: true })
    process.env.GIT_DIR = join(one.folder, 'other')
    t.after(() => {
      delete process.env.GIT_DIR
    })
    assert.deepEqual(await findCommit(one.folder), one.commit)
  })
})

describe('the executable', { skip: missing('git') }, () => {
  it('names the commit that it was built from in each place', async (t) => {
    const { stdout } = await runExecutable(['version', '--json'])
    const { commit, day, node } = JSON.parse(stdout)
    assert.equal(node, process.version)
    if (commit !== null) {
      const seconds = await git(root, 'show', '--no-patch', '--no-show-signature', '--format=%ct', commit)
      assert.equal(day, new Date(Number(seconds) * 1000).toISOString().slice(0, 10))
    } else assert.equal(day, null)
    const shown = { commit: commit ?? 'unknown', day: day ?? 'unknown' }
    const line = `connbook ${version} (commit ${commit === null ? 'unknown' : `${commit} of ${day}`})\n`
    assert.equal((await runExecutable(['--version'])).stdout, line)
    const folder = join(await temporaryFolder(t), 'data')
    const { url, stderr, stop } = await startExecutable(t, ['--data', folder, '--metrics-public'])
    const listening = `"version":"${version}","commit":"${shown.commit}","day":"${shown.day}","pid":`
    assert.ok(stderr().includes(listening), stderr())
    const metrics = await (await fetch(`${url}/metrics`)).text()
    const labels = `version="${version}",commit="${shown.commit}",day="${shown.day}",node="${process.version}"`
    assert.ok(metrics.includes(`\nconnbook_build_info{${labels}} 1\n`))
    assert.equal(await stop(), 0)
  })
})
