import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { dataPaths, stateFiles } from '../../../src/files/data-folder.ts'
import { realFileSystem } from '../../../src/files/file-system.ts'
import { finishReplacement, sweepReplacements } from '../../../src/files/folder-replacement.ts'
import { type Backup, readBackup } from '../../../src/state/backup-document.ts'
import { replaceState } from '../../../src/state/restore.ts'
import { type KeptState, stateIn, type UsedFolder } from '../../commands/kept-state.ts'
import { contentsIn } from '../../commands/photograph.ts'
import { createRandom, type Random } from '../../support/random.ts'
import { chooseRandomly, dropAll, keepAll } from '../volatile/chooser.ts'
import { type DiskImage, VolatileDisk } from '../volatile/volatile-disk.ts'
import {
  createVolatileFiles,
  type VolatileFiles,
  type VolatileFilesOptions,
} from '../volatile/volatile-files.ts'

const FOLDER = '/data'
/** More operations than a completion takes. */
const COMPLETION_STEPS = 60

type Options = Pick<VolatileFilesOptions, 'ignoredSyncs'>

/** A folder on a disk that forgets unsynced data, and a backup to be restored there. */
export interface RestoreScene {
  readonly image: DiskImage
  readonly backup: Backup
  /** What the backup holds. */
  readonly kept: KeptState
  /** Files of the folder before, by path. */
  readonly old: ReadonlyMap<string, Buffer>
}

export async function prepareScene({ folder, backup, kept }: UsedFolder): Promise<RestoreScene> {
  const names = Object.keys(await contentsIn(folder))
  const old = new Map(names.map((name) => [join(FOLDER, name), readFileSync(join(folder, name))]))
  const image = { entries: new Map([[FOLDER, undefined], ...old]) }
  return { image, backup: await readBackup(backup, realFileSystem), kept, old }
}

/** Number of operations of an uninterrupted restore. */
export async function countSteps(scene: RestoreScene): Promise<number> {
  let crashAt = 0
  while (
    !(await restoreOn(new VolatileDisk(scene.image), scene, { random: createRandom(0), crashAt })).isDone
  )
    crashAt += 1
  return crashAt
}

/**
 * Restores until the power fails at a step, and completes the restore, with further power losses. The folder must then
 * be as before or as in the backup, with the old files kept.
 */
export async function losePowerAt(
  scene: RestoreScene,
  crashAt: number,
  random: Random,
  options: Options = {},
): Promise<void> {
  const disk = new VolatileDisk(scene.image)
  const { isDone } = await restoreOn(disk, scene, { random, crashAt, ...options })
  for (const chooser of [dropAll, keepAll, chooseRandomly(random)]) {
    let image = disk.crash(chooser)
    for (let losses = random.integer(0, 2); losses > 0; losses -= 1) {
      const again = new VolatileDisk(image)
      await completeOn(again, { random, crashAt: random.integer(0, COMPLETION_STEPS), ...options })
      image = again.crash(random.pick([dropAll, keepAll, chooseRandomly(random)]))
    }
    const last = new VolatileDisk(image)
    assert.ok(await completeOn(last, { random }))
    const outcome = await outcomeOn(last, scene, random)
    if (isDone) assert.equal(outcome, 'new', 'a restore that was reported as done was lost')
  }
}

async function restoreOn(disk: VolatileDisk, { backup }: RestoreScene, options: VolatileFilesOptions) {
  const files = createVolatileFiles(disk, options)
  return { isDone: await untilDeath(files, () => replaceState(dataPaths(FOLDER, files), backup)) }
}

/** What every opening of the folder does. */
function completeOn(disk: VolatileDisk, options: VolatileFilesOptions): Promise<boolean> {
  const files = createVolatileFiles(disk, options)
  return untilDeath(files, async () => {
    await finishReplacement(FOLDER, stateFiles, files)
    await sweepReplacements(FOLDER, files)
  })
}

/** Whether the action finished. */
function untilDeath(files: VolatileFiles, action: () => Promise<unknown>): Promise<boolean> {
  return Promise.race([action().then(() => true), files.died.then(() => false)])
}

async function outcomeOn(
  disk: VolatileDisk,
  { kept, old }: RestoreScene,
  random: Random,
): Promise<'old' | 'new'> {
  const entries = disk.entries(FOLDER)
  assert.deepEqual(
    entries.filter((name) => /^\.?restore-/.test(name)),
    [],
    'something is left over',
  )
  const aside = entries.find((name) => name.startsWith('before-restore-'))
  const place = aside === undefined ? FOLDER : join(FOLDER, aside)
  for (const [path, content] of old) {
    const name = basename(path)
    const isWhole =
      disk.find(join(place, name)) !== undefined && contentOf(disk, join(place, name)).equals(content)
    assert.ok(isWhole, `the old ${name} is not in ${place}; ${FOLDER} has ${entries.join(', ')}`)
  }
  assert.equal(disk.entries(place).length, old.size, `${place} has ${disk.entries(place).join(', ')}`)
  if (aside === undefined) return 'old'
  assert.deepEqual(await stateIn(FOLDER, createVolatileFiles(disk, { random })), kept)
  return 'new'
}

function contentOf(disk: VolatileDisk, path: string): Buffer {
  const found = disk.find(path)
  assert.ok(found !== undefined && found !== 'folder', path)
  return disk.content(found)
}
