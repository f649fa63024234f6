import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { cp, mkdir, readdir, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { after, describe, it, type TestContext } from 'node:test'
import { dataPaths } from '../../../src/files/data-folder.ts'
import { realFileSystem } from '../../../src/files/file-system.ts'
import { openDataFolder } from '../../../src/files/owned-folder.ts'
import { readBackup } from '../../../src/state/backup-document.ts'
import { RestoreFailedError, RestoreIncompleteError, replaceState } from '../../../src/state/restore.ts'
import { makeUsedFolder, stateIn } from '../../commands/kept-state.ts'
import { contentsIn } from '../../commands/photograph.ts'
import { runCommand } from '../../support/command.ts'
import { missing } from '../../support/debian.ts'
import { runExecutable } from '../../support/executable.ts'
import { createFailingFiles, systemError } from '../../support/failing-files.ts'
import { mountSmallDisk, noNamespaces } from '../../support/namespace.ts'
import { createRandom } from '../../support/random.ts'
import { oneFileThread, underStrace } from '../../support/strace.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { type KillPoints, killAtEach } from '../system-calls/kill-points.ts'
import { countSteps, losePowerAt, prepareScene } from './restore-power-loss.ts'

const used = await makeUsedFolder({ after })
const scene = await prepareScene(used)
const old = await contentsIn(used.folder)

const POWER_LOSSES_PER_STEP = 20
const CONTROL_RUNS = 300
const KIB = 1024

async function copyUsed(t: TestContext): Promise<string> {
  const folder = join(await temporaryFolder(t), 'data')
  await cp(used.folder, folder, { recursive: true })
  return folder
}

function restore(folder: string, through: readonly string[] = []) {
  return runExecutable(['restore', used.backup, '--data', folder], { through, environment: oneFileThread })
}

/** Whether the folder is as before, or as in the backup with the old files kept; ignores pieces of uncommitted restores. */
async function outcome(folder: string): Promise<'old' | 'new'> {
  const aside = (await readdir(folder)).find((name) => name.startsWith('before-restore-'))
  if (aside === undefined) {
    assert.deepEqual(await contentsIn(folder), old)
    return 'old'
  }
  assert.deepEqual(await contentsIn(join(folder, aside)), old)
  assert.deepEqual(await stateIn(folder), used.kept)
  return 'new'
}

async function assertNothingIsLeft(folder: string) {
  const left = (await readdir(folder)).filter((name) => /^\.?restore-|\.tmp$/.test(name))
  assert.deepEqual(left, [])
}

describe('a restore interrupted by power losses', () => {
  it('is undone or complete, at whatever steps they come, and the old files are kept', async (t) => {
    const random = createRandom()
    const steps = await countSteps(scene)
    t.diagnostic(`seed ${random.seed}, ${steps} steps`)
    for (let step = 0; step <= steps; step += 1) {
      for (let times = 0; times < POWER_LOSSES_PER_STEP; times += 1) {
        await losePowerAt(scene, step, random).catch((error: unknown) => {
          throw new Error(`at step ${step} of ${steps}: ${error}`, { cause: error })
        })
      }
    }
  })

  for (const ignoredSyncs of ['all', 'folders'] as const) {
    it(`mixes or loses state if syncs do nothing (${ignoredSyncs})`, async (t) => {
      const random = createRandom()
      t.diagnostic(`seed ${random.seed}`)
      const steps = await countSteps(scene)
      const runs = async () => {
        for (let run = 0; run < CONTROL_RUNS; run += 1)
          await losePowerAt(scene, random.integer(0, steps), random, { ignoredSyncs })
      }
      await assert.rejects(runs)
    })
  }
})

describe('connbook restore, killed at a system call', { skip: missing('strace') }, () => {
  it('leaves the old state, or the new one, which the next start completes', async (t) => {
    const points: KillPoints[] = [
      { call: 'mkdir' },
      { call: 'rename' },
      { call: 'fsync' },
      { call: 'rmdir' },
      { call: 'pwrite64' },
      { call: 'openat', file: '.' },
    ]
    await killAtEach(t, points, async (throughFor) => {
      const folder = await copyUsed(t)
      const { code, stderr } = await restore(folder, throughFor(folder))
      assert.ok(code === null || code === 0, stderr)
      const isCommitted = (await readdir(folder)).some((name) => /^(before-)?restore-/.test(name))
      const checked = await runCommand(['check', '--data', folder])
      assert.ok([0, 1].includes(checked.code ?? -1), checked.stderr)

      const opened = await openDataFolder(folder)
      opened.release()
      assert.equal(await outcome(folder), isCommitted ? 'new' : 'old')
      await assertNothingIsLeft(folder)
      const whole = await runCommand(['check', '--data', folder])
      assert.equal(whole.code, 0, whole.stderr)
      if (code === 0) assert.ok(isCommitted)
      return code === null
    })
  })

  it('can be repeated at once', async (t) => {
    for (const when of ['3', '8', '11']) {
      const folder = await copyUsed(t)
      const through = underStrace({ calls: 'rename', fault: 'signal=KILL', when })
      assert.equal((await restore(folder, through)).code, null)
      const { code, stderr } = await runCommand(['restore', used.backup, '--data', folder])
      assert.equal(code, 0, stderr)
      assert.deepEqual(await stateIn(folder), used.kept)
      await assertNothingIsLeft(folder)
    }
  })
})

describe('connbook restore on a disk that is full or fails', () => {
  it('leaves the folder as it was when a file cannot grow', async (t) => {
    for (const bytes of [0, 50, 100, 200, 300, 400, 600]) {
      const folder = await copyUsed(t)
      const { code, stdout, stderr } = await restore(folder, ['prlimit', `--fsize=${bytes}`])
      assert.deepEqual([code, stdout], [1, ''])
      assert.match(stderr, /EFBIG/)
      assert.equal(await outcome(folder), 'old')
      await assertNothingIsLeft(folder)
    }
  })

  it('restores the folder or leaves it as it was, however much room there is', {
    skip: noNamespaces,
  }, async (t) => {
    const outcomes = new Set<string>()
    for (const pages of [0, 1, 2, 3, 4, 5, 6, 8]) {
      const folder = join(await temporaryFolder(t), 'data')
      await mkdir(folder)
      const disk = await mountSmallDisk(t, folder, 256 * KIB)
      await cp(used.folder, disk.outside, { recursive: true })
      // Makes the lock files, which take room as well.
      assert.equal((await runExecutable(['check', '--data', folder], { through: disk.through })).code, 0)
      await fillUp(disk.outside, pages)
      const { code, stderr } = await restore(folder, disk.through)
      const found = await outcome(disk.outside)
      assert.equal(found, code === 0 ? 'new' : 'old', stderr)
      if (code !== 0) assert.match(stderr, /ENOSPC|no space|full/)
      await assertNothingIsLeft(disk.outside)
      outcomes.add(found)
    }
    assert.equal(outcomes.size, 2)
  })

  it('leaves the folder as it was, or is completed by the next start, whichever call fails', async (t) => {
    const backup = await readBackup(used.backup, realFileSystem)
    let hasFailed = true
    for (let failing = 0; hasFailed; failing += 1) {
      hasFailed = false
      const folder = await copyUsed(t)
      const files = createFailingFiles()
      let calls = 0
      let at = ''
      files.before = (operation, path) => {
        if (calls++ !== failing) return
        hasFailed = true
        at = `${failing}: ${operation} ${relative(folder, path)}`
        throw systemError('EIO', path)
      }
      const isDone = await replaceState(dataPaths(folder, files), backup).then(
        () => true,
        (error: unknown) => {
          assert.ok(
            error instanceof RestoreIncompleteError || error instanceof RestoreFailedError,
            `${at}: ${error}`,
          )
          return error
        },
      )
      const opened = await openDataFolder(folder)
      opened.release()
      const expected = isDone === true || isDone instanceof RestoreIncompleteError ? 'new' : 'old'
      assert.equal(await outcome(folder), expected, at)
      await assertNothingIsLeft(folder)
    }
  })

  it('says that the next start completes it, if it fails after the commit', {
    skip: missing('strace'),
  }, async (t) => {
    for (const [call, when] of [
      ['mkdir', '3'],
      ['rename', '8'],
      ['fsync', '13'],
    ]) {
      const folder = await copyUsed(t)
      const through = underStrace({ calls: call ?? '', fault: 'error=EIO', when: when ?? '' })
      const { code, stdout, stderr } = await restore(folder, through)
      assert.deepEqual([code, stdout], [1, ''])
      const opened = await openDataFolder(folder)
      opened.release()
      assert.equal(await outcome(folder), 'new')
      assert.match(stderr, /EIO.*start connbook, which completes it/)
    }
  })
})

/** Leaves this many free pages. */
async function fillUp(folder: string, pages: number) {
  const page = Buffer.alloc(4 * KIB)
  const fillers: string[] = []
  await mkdir(join(folder, 'fillers'))
  for (;;) {
    const filler = join(folder, 'fillers', String(fillers.length))
    try {
      await writeFile(filler, page)
      fillers.push(filler)
    } catch {
      await writeFile(filler, '').catch(() => {})
      break
    }
  }
  for (const filler of fillers.slice(0, pages)) await writeFile(filler, '')
}
