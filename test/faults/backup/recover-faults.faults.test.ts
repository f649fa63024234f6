import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { cp, readdir, readFile, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, describe, it, type TestContext } from 'node:test'
import { dataFiles } from '../../../src/files/data-folder.ts'
import { openDataFolder } from '../../../src/files/owned-folder.ts'
import { makeUsedFolder, stateIn } from '../../commands/kept-state.ts'
import { contentsIn } from '../../commands/photograph.ts'
import { runCommand } from '../../support/command.ts'
import { missing } from '../../support/debian.ts'
import { runExecutable } from '../../support/executable.ts'
import { oneFileThread, underStrace } from '../../support/strace.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { type KillPoints, killAtEach } from '../system-calls/kill-points.ts'

const LOST = 'kept 5'
const used = await makeUsedFolder({ after })
/** One addition of the journal is damaged, and the keys are cut. */
const damaged = join(used.folder, '..', 'damaged')
await cp(used.folder, damaged, { recursive: true })
const journal = await readFile(join(damaged, dataFiles.journal), 'utf8')
await writeFile(join(damaged, dataFiles.journal), journal.replace(`"name":"${LOST}"`, '"name":"kept X"'))
await truncate(join(damaged, dataFiles.keys), 10)

const old = await contentsIn(damaged)
const kept = { ...used.current, records: used.current.records.filter(({ name }) => name !== LOST) }

async function copyDamaged(t: TestContext): Promise<string> {
  const folder = join(await temporaryFolder(t), 'data')
  await cp(damaged, folder, { recursive: true })
  return folder
}

function recover(folder: string, through: readonly string[] = []) {
  return runExecutable(['recover', '--yes', '--data', folder], { through, environment: oneFileThread })
}

/** Whether the folder is damaged as before, or holds what could be read, with the old files kept. */
async function outcome(folder: string): Promise<'old' | 'new'> {
  const entries = await readdir(folder)
  assert.deepEqual(
    entries.filter((name) => /^\.?restore-|\.tmp$/.test(name)),
    [],
  )
  const aside = entries.find((name) => name.startsWith('before-restore-'))
  const { code } = await runCommand(['check', '--data', folder])
  if (aside === undefined) {
    assert.deepEqual([await contentsIn(folder), code], [old, 65])
    return 'old'
  }
  assert.deepEqual([await contentsIn(join(folder, aside)), code], [old, 0])
  assert.deepEqual(await stateIn(folder), kept)
  return 'new'
}

describe('connbook recover, killed at a system call', { skip: missing('strace') }, () => {
  it('leaves the old state, or the new one, which the next owner completes', async (t) => {
    const points: KillPoints[] = [
      { call: 'mkdir' },
      { call: 'rename' },
      { call: 'fsync' },
      { call: 'rmdir' },
      { call: 'pwrite64' },
      { call: 'openat', file: '.' },
    ]
    await killAtEach(t, points, async (throughFor) => {
      const folder = await copyDamaged(t)
      const { code, stderr } = await recover(folder, throughFor(folder))
      assert.ok(code === null || code === 0, stderr)
      const isCommitted = (await readdir(folder)).some((name) => /^(before-)?restore-/.test(name))
      const opened = await openDataFolder(folder)
      opened.release()
      assert.equal(await outcome(folder), isCommitted ? 'new' : 'old')
      if (code === 0) assert.ok(isCommitted)
      return code === null
    })
  })

  it('can be repeated at once', async (t) => {
    for (const when of ['3', '8', '11']) {
      const folder = await copyDamaged(t)
      const through = underStrace({ calls: 'rename', fault: 'signal=KILL', when })
      const killed = await recover(folder, through)
      assert.equal(killed.code, null)
      const { code, stderr } = await runCommand(['recover', '--yes', '--data', folder])
      assert.equal(code, 0, stderr)
      assert.equal(await outcome(folder), 'new')
    }
  })
})

describe('connbook recover on a disk that is full', () => {
  it('leaves the folder as it was', async (t) => {
    for (const bytes of [0, 50, 100, 200, 300, 400, 600]) {
      const folder = await copyDamaged(t)
      const { code, stderr } = await recover(folder, ['prlimit', `--fsize=${bytes}`])
      assert.equal(code, 1)
      assert.match(stderr, /EFBIG/)
      assert.equal(await outcome(folder), 'old')
    }
  })
})
