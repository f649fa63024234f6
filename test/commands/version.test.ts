import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { version, versionLine } from '../../src/version.ts'
import { runCommand } from '../support/command.ts'

describe('connbook version', () => {
  it('shows what --version shows: the commit and its day, if they are known', async () => {
    const line = `connbook ${version} (commit unknown)\n`
    assert.deepEqual(await runCommand(['version']), { code: 0, stdout: line, stderr: '' })
    assert.equal((await runCommand(['--version'])).stdout, line)
    const commit = '089af0ed91d0f4a1ab6cc1b4b8f5c2f1f3f2e1d0'
    assert.equal(
      versionLine({ commit, day: '2026-11-28' }),
      `connbook ${version} (commit ${commit} of 2026-11-28)\n`,
    )
  })

  it('shows it as one line of JSON, with Node and the kind of machine', async () => {
    const { code, stdout, stderr } = await runCommand(['version', '--json'])
    assert.deepEqual([code, stderr], [0, ''])
    assert.match(stdout, /^\{.*\}\n$/)
    const system = process.platform === 'win32' ? 'win' : process.platform
    const target = `${system}-${process.arch}`
    assert.deepEqual(JSON.parse(stdout), { version, commit: null, day: null, node: process.version, target })
  })

  it('refuses both flags, and has no bill of materials in a run from source', async () => {
    for (const [words, message] of [
      ['--json --sbom', 'Cannot show both --json and --sbom; give one of them'],
      ['--sbom', 'Cannot show the bill of materials: this runs from source; use dist/connbook'],
    ] as const) {
      const { code, stdout, stderr } = await runCommand(['version', ...words.split(' ')])
      assert.deepEqual([code, stdout, stderr], [2, '', `connbook: ${message}\n`])
    }
  })

  it('fails when it cannot print', async () => {
    const { code, stderr } = await runCommand(['version'], { outputError: 'ENOSPC' })
    assert.deepEqual([code, stderr], [1, 'connbook: Cannot write to standard output (ENOSPC)\n'])
  })
})
