import assert from 'node:assert/strict'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { DamagedFileError, systemCode } from '../../../src/errors.ts'
import { dataPaths } from '../../../src/files/data-folder.ts'
import type { FileSystem } from '../../../src/files/file-system.ts'
import { settleFolder } from '../../../src/files/owned-folder.ts'
import { RECOVERY_PAUSE_MS_MAX } from '../../../src/journal/recovery-loop.ts'
import type { Log } from '../../../src/log.ts'
import { createRandom, type Random } from '../../support/random.ts'
import { chooseRandomly, dropAll, keepAll, keepNamesAndSizes } from '../volatile/chooser.ts'
import { type DiskImage, VolatileDisk } from '../volatile/volatile-disk.ts'
import {
  createVolatileFiles,
  type DiskFault,
  type VolatileFiles,
  type VolatileFilesOptions,
} from '../volatile/volatile-files.ts'

/** What happens to a running subject, in order. */
export type Step<Request> =
  /** Makes all these requests in one turn of the event loop. */
  | { readonly burst: readonly Request[] }
  /** Lets turns of the event loop pass. */
  | { readonly turns: number }
  /** Waits for every answer. */
  | 'answers'
  /** Lets the longest pause between attempts to recover pass. */
  | 'pause'
  | { readonly fault: DiskFault }
  /** Nothing fails any more. */
  | 'mend'
  /** Nothing fails any more; waits until changes are taken again. */
  | 'recover'

/** One process, from its start to the kill or the power loss that ends it. */
export interface Life<Request> {
  /** Seed of short transfers, of the duration of operations, and of what a crash leaves. */
  readonly seed: number
  readonly snapshotBytesMin: number
  /** Faults that are there at the start. */
  readonly faults: readonly DiskFault[]
  readonly steps: readonly Step<Request>[]
  readonly isClosed: boolean
  /** The file-system operation at which the life ends; if there are fewer, it ends after the last. */
  readonly crashAt: number
  /** Whether only the process is killed, so that the next life finds everything written, synced or not. */
  readonly isOnlyKilled: boolean
  /** Which of the images that the power loss may leave is the start of the next life. */
  readonly image: number
}

/** What the lives of one run share. */
export interface Surroundings {
  /** Lets the time of a pending timer pass. */
  pass(ms: number): void
  readonly ignoredSyncs?: NonNullable<VolatileFilesOptions['ignoredSyncs']>
  /** Stands between the program and the disk. */
  wrap?(files: FileSystem): FileSystem
}

/** A running subject, which keeps its state in a data folder. */
export interface Running<Request> {
  /** Requests a change without waiting for the answer. */
  request(request: Request): void
  /** Requests that have no answer yet. */
  readonly waiting: number
  readonly isWritable: boolean
  /** Checks what is shown; throws what was found wrong since the last check. */
  check(): void
  close(): Promise<void>
}

/** Requests and answers since a state, and what may therefore be found. */
export interface Chronicle<Request, State> {
  /** @param files May fail or die at any operation. */
  open(files: VolatileFiles, seen: FileSystem, life: Life<Request>): Promise<Running<Request>>
  /**
   * Opens what a power loss left and checks it.
   *
   * @returns What was found, and what is there now that it has been opened.
   */
  read(files: FileSystem): Promise<{ readonly found: State; readonly opened: State }>
}

/** A kind of component that keeps its state in a data folder. */
export interface Subject<Request, State> {
  /** The state of an empty folder. */
  readonly firstState: State
  begin(state: State): Chronicle<Request, State>
}

const FOLDER = '/data'
const WAIT_TURNS_MAX = 20_000

/** The folder in which all lives take place. */
export const lifeFolder = dataPaths(FOLDER)
export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} }

/**
 * Runs lives one after the other, each on the disk that the last one left. Opens some of the images that a power loss
 * at the end of each may leave, and compares them with the answers.
 *
 * @throws what was found wrong.
 */
export async function runLives<Request, State>(
  subject: Subject<Request, State>,
  lives: readonly Life<Request>[],
  surroundings: Surroundings,
): Promise<void> {
  let disk = new VolatileDisk({ entries: new Map([[FOLDER, undefined]]) })
  let state = subject.firstState
  let chronicle = subject.begin(state)
  for (const life of lives) {
    const random = createRandom(life.seed)
    const files = createVolatileFiles(disk, optionsOf(surroundings, random, life.crashAt))
    const begun = subject.begin(state)
    // A start that failed has shown nothing, so the expectation is unchanged.
    if (await live(life, files, begun, surroundings)) chronicle = begun
    files.kill()

    const found: { image: DiskImage; state: State }[] = []
    for (const left of imagesOf(disk, random)) {
      found.push({ image: left, state: await readTwice(left, subject, chronicle, random, surroundings) })
    }
    // A failed sync leaves data that no later process can know to be missing from the disk.
    if (life.isOnlyKilled && files.failures === 0) {
      state = await readTwice(disk.crash(keepAll), subject, chronicle, random, surroundings)
      continue
    }
    const next = found[life.image % found.length]
    assert.ok(next !== undefined)
    disk = new VolatileDisk(next.image)
    state = next.state
    chronicle = subject.begin(state)
  }
}

/** @returns Whether it started. */
async function live<Request, State>(
  life: Life<Request>,
  files: VolatileFiles,
  chronicle: Chronicle<Request, State>,
  { pass, wrap }: Surroundings,
): Promise<boolean> {
  for (const fault of life.faults) files.fail(fault)
  const seen = wrap?.(files) ?? files
  const start = settleFolder(FOLDER, seen).then(() => chronicle.open(files, seen, life))
  const running = await untilDead(files, start).catch((error: unknown) => {
    // A start may fail only if the disk does.
    if (files.failures === 0 || systemCode(error) === undefined || error instanceof DamagedFileError)
      throw error
  })
  if (running === undefined) return false
  running.check()
  for (const step of life.steps) {
    await take(step, running, files, pass)
    if (files.isDead) break
    running.check()
  }
  if (life.isClosed && !files.isDead) {
    await untilDead(files, running.close())
    if (!files.isDead) assert.equal(running.waiting, 0)
  }
  running.check()
  return true
}

async function take<Request>(
  step: Step<Request>,
  running: Running<Request>,
  files: VolatileFiles,
  pass: (ms: number) => void,
): Promise<void> {
  if (step === 'answers') await turnsUntil(files, () => running.waiting === 0)
  else if (step === 'mend') files.mend()
  else if (step === 'pause') pass(RECOVERY_PAUSE_MS_MAX)
  else if (step === 'recover') {
    files.mend()
    await turnsUntil(files, () => {
      pass(RECOVERY_PAUSE_MS_MAX)
      return running.isWritable
    })
  } else if ('turns' in step) {
    let left = step.turns
    await turnsUntil(files, () => {
      running.check()
      return left-- === 0
    })
  } else if ('fault' in step) files.fail(step.fault)
  else for (const request of step.burst) running.request(request)
}

async function turnsUntil(files: VolatileFiles, holds: () => boolean): Promise<void> {
  for (let turns = 0; !files.isDead && !holds(); turns++) {
    assert.ok(turns < WAIT_TURNS_MAX, 'nothing goes on')
    await nextTurn()
  }
}

/** Undefined if the process dies first. */
function untilDead<T>(files: VolatileFiles, action: Promise<T>): Promise<T | undefined> {
  return Promise.race([action, files.died.then(() => undefined)])
}

/** Some different images that a power loss now may leave. */
function imagesOf(disk: VolatileDisk, random: Random): DiskImage[] {
  const choosers = [dropAll, keepAll, keepNamesAndSizes, chooseRandomly(random), chooseRandomly(random)]
  const images = (disk.isDurable ? [keepAll] : choosers).map((choose) => disk.crash(choose))
  return [...new Map(images.map((image) => [textOf(image), image])).values()]
}

/** Equal for equal images. */
function textOf({ entries }: DiskImage): string {
  return Array.from(entries, ([path, content]) => `${path} ${content?.toString('latin1')}`)
    .sort()
    .join('\n')
}

/** Opens an image, and what a power loss leaves of that. */
async function readTwice<Request, State>(
  image: DiskImage,
  { begin }: Subject<Request, State>,
  chronicle: Chronicle<Request, State>,
  random: Random,
  surroundings: Surroundings,
): Promise<State> {
  const disk = new VolatileDisk(image)
  const { found, opened } = await readDisk(disk, chronicle, random, surroundings)
  for (const left of imagesOf(disk, random)) {
    // An image that was checked already would give the same result.
    if (textOf(left) === textOf(image)) continue
    await readDisk(new VolatileDisk(left), begin(opened), random, surroundings)
  }
  return found
}

async function readDisk<Request, State>(
  disk: VolatileDisk,
  chronicle: Chronicle<Request, State>,
  random: Random,
  surroundings: Surroundings,
) {
  const files = createVolatileFiles(disk, optionsOf(surroundings, random))
  const read = await chronicle.read(files)
  files.kill()
  return read
}

function optionsOf({ ignoredSyncs }: Surroundings, random: Random, crashAt?: number): VolatileFilesOptions {
  return {
    random,
    ...(crashAt === undefined ? {} : { crashAt }),
    ...(ignoredSyncs === undefined ? {} : { ignoredSyncs }),
  }
}
