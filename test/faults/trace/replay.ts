import { hash } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { createRandom } from '../../support/random.ts'
import { folderInMemory } from '../../support/temporary-folder.ts'
import { type Chooser, chooseRandomly, dropAll, keepAll, keepNamesAndSizes } from '../volatile/chooser.ts'
import type { DiskImage, VolatileDisk } from '../volatile/volatile-disk.ts'
import { writeImageOf } from './image.ts'
import { TraceDisk } from './trace-disk.ts'
import type { Call, TraceEvent } from './trace-parser.ts'

const CALLS_TOLD = 10
const COMBINED_CHANGES_MAX = 4

/** A recording, and how to check it. */
export interface Run<Found> {
  /** The folder that holds everything that the calls changed. */
  readonly root: string
  /** The root before the run. */
  readonly before: DiskImage
  readonly events: readonly TraceEvent[]
  /** @returns An oracle that has seen no event. */
  createOracle(): Oracle<Found>
  /**
   * Inspects what a power failure left; called once for each different image.
   *
   * @param root Where it is now.
   * @param number How many images were inspected before.
   */
  inspect(root: string, number: number): Promise<Found>
}

/** Knows what must be on disk because a client has been promised it. */
export interface Oracle<Found> {
  /** @returns Whether the event promised a client something. */
  take(event: TraceEvent): boolean
  /** Checks what was found after a power failure at this moment. */
  check(found: Found): void
  /** In words. */
  toString(): string
}

export interface ReplayOptions {
  readonly seed: number
  /** At how many of the moments to try a crash, evenly spaced from a random one on. */
  readonly crashes: number
  /** How many random outcomes to try for each crash, besides the regular ones. */
  readonly randomOutcomes: number
  /** The replay ends with the first violation that matches. */
  readonly until?: RegExp
}

export interface ReplayResult {
  /** Moments at which the disk changed or a client was promised something. */
  readonly moments: number
  /** Different images that were looked at. */
  readonly images: number
  readonly violations: readonly string[]
}

/** Simulates power failures at moments of a recorded run, and checks what each leaves. */
export async function replay<Found>(
  t: TestContext,
  run: Run<Found>,
  options: ReplayOptions,
): Promise<ReplayResult> {
  const folder = await folderInMemory(t)
  const moments = countMoments(run)
  const isTried = pickEvenly(moments, options)
  const oracle = run.createOracle()
  const traced = new TraceDisk(run.root, run.before)
  const inspected = new Map<string, Inspected<Found>>()
  const violations: string[] = []
  const calls: string[] = []
  let moment = -1

  for (const event of run.events) {
    const isChanged = traced.apply(event)
    const isTold = oracle.take(event)
    if (!isChanged && !isTold) continue
    moment += 1
    if (isChanged) calls.push(`${event.moment} ${inWords(event.call)}`)
    if (!isTried(moment)) continue
    for (const [outcome, choose] of outcomes(traced, options, moment)) {
      const image = traced.disk.crash(choose)
      const digest = digestOf(image)
      const found = inspected.get(digest) ?? (await inspectImage(image))
      inspected.set(digest, found)
      const violation = violationIn(oracle, found)
      if (violation === undefined) continue
      violations.push(describe(`moment ${moment}, ${outcome}; told: ${oracle}`, violation, calls, image))
      if (options.until?.test(violation)) return result()
    }
  }
  return result()

  function result(): ReplayResult {
    return { moments, images: inspected.size, violations }
  }

  async function inspectImage(image: DiskImage): Promise<Inspected<Found>> {
    const copy = join(folder, String(inspected.size))
    await writeImageOf(run.root, image, copy)
    try {
      return { found: await run.inspect(copy, inspected.size) }
    } catch (error) {
      return { failure: error instanceof Error ? error.message : String(error) }
    } finally {
      await rm(copy, { recursive: true })
    }
  }
}

type Inspected<Found> = { readonly found: Found } | { readonly failure: string }

function countMoments(run: Run<unknown>): number {
  const oracle = run.createOracle()
  const traced = new TraceDisk(run.root, run.before)
  return run.events.filter((event) => {
    const isChanged = traced.apply(event)
    return oracle.take(event) || isChanged
  }).length
}

function pickEvenly(moments: number, { seed, crashes }: ReplayOptions): (moment: number) => boolean {
  const share = Math.min(1, crashes / moments)
  const start = createRandom(seed).integer(0, moments - 1)
  return (moment) => Math.floor((start + moment + 1) * share) > Math.floor((start + moment) * share)
}

function outcomes({ disk }: TraceDisk, options: ReplayOptions, moment: number): [string, Chooser][] {
  if (disk.isDurable) return [['nothing to lose', keepAll]]
  const random = Array.from({ length: options.randomOutcomes }, (_, i): [string, Chooser] => {
    const seed = options.seed + moment * options.randomOutcomes + i
    return [`random ${seed}`, chooseRandomly(createRandom(seed))]
  })
  return [
    ['all dropped', dropAll],
    ['all kept', keepAll],
    ['names and sizes kept', keepNamesAndSizes],
    ...nameCombinations(disk),
    ...random,
  ]
}

/** Each combination of unsynced names, with everything written; none if there are too many. */
function nameCombinations(disk: VolatileDisk): [string, Chooser][] {
  let changes = 0
  const keepsChange = () => {
    changes += 1
    return true
  }
  disk.crash({ ...keepAll, keepsChange })
  if (changes > COMBINED_CHANGES_MAX) return []
  return Array.from({ length: 2 ** changes }, (_, combination) => {
    let left = combination
    const keepsChange = () => {
      const isKept = left % 2 === 1
      left = Math.floor(left / 2)
      return isKept
    }
    return [`combination ${combination} of names`, { ...keepAll, keepsChange }]
  })
}

const digests = new WeakMap<Buffer, string>()

function digestOf({ entries }: DiskImage): string {
  const lines = Array.from(entries, ([path, content]) => {
    if (content === undefined) return path
    const digest = digests.get(content) ?? hash('sha256', content)
    digests.set(content, digest)
    return `${path} ${digest}`
  })
  return lines.sort().join('\n')
}

function violationIn<Found>(oracle: Oracle<Found>, inspected: Inspected<Found>): string | undefined {
  if ('failure' in inspected) return inspected.failure
  try {
    oracle.check(inspected.found)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

function describe(title: string, violation: string, calls: readonly string[], image: DiskImage): string {
  const files = Array.from(image.entries, ([path, content]) => `${path}: ${content?.length ?? 'a folder'}`)
  return [title, violation, ...calls.slice(-CALLS_TOLD), ...files].join('\n  ')
}

function inWords({ name, args, result }: Call): string {
  const words = args.map((arg) => {
    if (arg.kind === 'bytes') return JSON.stringify(arg.bytes.toString('utf8', 0, 80))
    if (arg.kind === 'descriptor') return arg.path
    return arg.kind === 'word' ? arg.text : arg.kind
  })
  return `${name}(${words.join(', ')}) = ${result}`
}
