import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { DamagedFileError } from '../../../src/errors.ts'
import { dataFiles } from '../../../src/files/data-folder.ts'
import {
  changedFiles,
  type FolderImage,
  fileIn,
  lineOffsets,
  readImage,
  replaceFile,
  writeImage,
} from '../../support/folder-image.ts'
import type { Headers } from '../../support/http-client.ts'
import {
  type PreparedFolder,
  prepareFolders,
  type State,
  stateAt,
  stateOf,
  withoutTrail,
} from '../../support/prepared-folder.ts'
import { createRandom } from '../../support/random.ts'
import { start } from '../../support/service.ts'
import { folderInMemory } from '../../support/temporary-folder.ts'
import {
  appendices,
  bitFlips,
  cuts,
  type Damage,
  files,
  lossesUpToLastLine,
  newerVersion,
  sample,
  shifts,
  wrongLines,
} from './damage-kinds.ts'

/** How many kinds of damage are tried, of those that there are; each of them when infinite. */
export interface DamageAmounts {
  readonly offsets: number
  readonly losses: number
  readonly shifts: number
  readonly wrongLines: number
  readonly swaps: number
  /** Whether every set of files is missing once; else each file alone, and all files but one. */
  readonly eachSet: boolean
}

/** Which files of which folder are damaged bit by bit. */
const filesOf = { compacted: [dataFiles.journal, dataFiles.snapshot], compacting: files }

const random = createRandom()
const suite = { after }
const folders = await prepareFolders(suite)
const otherFolders = await prepareFolders(suite)
const folder = join(await folderInMemory(suite), 'data')

/** The outcome of a start: a state and the bytes set aside, or a refusal. */
type Outcome =
  | { readonly state: State; readonly aside: readonly Buffer[] }
  | { readonly refusal: DamagedFileError }

/** Starts the service on an image; a refusal must have a helpful message and change nothing. */
async function startOn(image: FolderImage, prepared: PreparedFolder): Promise<Outcome> {
  await writeImage(folder, image)
  const cleanUps: (() => void | Promise<void>)[] = []
  try {
    const service = await start({ after: (step) => void cleanUps.push(step) }, { folder, environment: {} })
    const state = await stateOf(service, prepared)
    await service.stop()
    const torn = (await readdir(folder)).filter((name) => name.includes('.torn-') && !image.has(name))
    return { state, aside: await Promise.all(torn.map((name) => readFile(join(folder, name)))) }
  } catch (error) {
    assert.ok(error instanceof DamagedFileError, String(error instanceof Error ? error.stack : error))
    assert.ok(error.path.startsWith(`${folder}/`) && error.offset >= 0)
    assert.match(error.message, /^Cannot read "[^"\n]+": [^\n]+ at byte \d+; [^\n]+$/)
    assert.deepEqual(changedFiles(image, await readImage(folder)), [], `changed before: ${error.message}`)
    return { refusal: error }
  } finally {
    for (const step of cleanUps) await step()
  }
}

/** The state of a file that is valid up to some byte, if nothing shows that there was more. */
function stateOfBeginning(prepared: PreparedFolder, name: string, bytes: number): State {
  if (name !== dataFiles.journal && name !== dataFiles.revocations) return prepared.state
  if (name === dataFiles.journal) {
    const step = prepared.steps.findLast((one) => one.bytes <= bytes) ?? assert.fail('the header is gone')
    return { ...prepared.state, ...stateAt(step) }
  }
  const ended = fileIn(prepared.image, name).subarray(0, bytes).toString()
  const areGood = prepared.credentials.map((headers) => !ended.includes(`"jti":"${idOf(headers)}"`))
  return { ...prepared.state, areGood }
}

/** `count` of them at random, in order. */
function someOf<T>(all: readonly T[], count: number): T[] {
  return sample(all.length, count, random).flatMap((i) => all.slice(i, i + 1))
}

function idOf(headers: Headers): string {
  const payload = Object.values(headers).join('').split('.')[1] ?? ''
  return (JSON.parse(Buffer.from(payload, 'base64url').toString()) as { jti: string }).jti
}

/** Start of the line with the first byte in which two files differ. */
function firstWrongLine(good: Buffer, bad: Buffer): number {
  let offset = 0
  while (offset < good.length && good[offset] === bad[offset]) offset += 1
  return lineOffsets(good).findLast((line) => line <= offset) ?? 0
}

/** Starts on a folder without its audit trail, where nothing else shows that the last lines of a journal are missing. */
function startWithoutTrail(image: FolderImage, prepared: PreparedFolder): Promise<Outcome> {
  return startOn(withoutTrail(image), prepared)
}

/** With the audit trail, a start that finds less than was acknowledged is refused. */
async function checkWitness(image: FolderImage, prepared: PreparedFolder, label: string) {
  const outcome = await startOn(image, prepared)
  assert.ok('refusal' in outcome, `${label}: the audit trail lists more, and is not heard`)
  assert.match(outcome.refusal.message, /audit trail lists acknowledged changes up to revision \d+: "/)
}

/**
 * Whatever the damage, the start is refused or finds everything. Without the audit trail, the last line may be lost,
 * because it looks as if it was never acknowledged; its bytes are kept then. Where a line break is lost, two lines
 * become the last one.
 */
async function checkDamage(prepared: PreparedFolder, name: string, { name: what, bytes }: Damage) {
  const good = fileIn(prepared.image, name)
  const image = replaceFile(prepared.image, name, bytes)
  const outcome = await startWithoutTrail(image, prepared)
  if ('refusal' in outcome) return
  const label = `${name}, ${what}, is taken for good`
  const wrongFrom = firstWrongLine(good, bytes)
  const isInLastLine = [good, bytes].some((content) => wrongFrom >= (lineOffsets(content).at(-2) ?? 0))
  const expected = isInLastLine ? stateOfBeginning(prepared, name, wrongFrom) : prepared.state
  assert.deepEqual(outcome.state, expected, label)
  if (!isDeepStrictEqual(outcome.state.records, prepared.state.records))
    await checkWitness(image, prepared, label)
  if (name.endsWith('.jsonl')) checkKept(outcome.aside, bytes.subarray(wrongFrom), label)
}

function checkKept(aside: readonly Buffer[], cutOff: Buffer, label: string) {
  assert.deepEqual(aside, cutOff.length > 0 ? [cutOff] : [], `${label}, and what was cut off is not kept`)
}

/** Describes what a start makes of damaged files. */
export function describeDamage(amounts: DamageAmounts): void {
  describe('an undamaged folder', () => {
    for (const [kind, prepared] of Object.entries(folders)) {
      it(`${kind} opens with what was acknowledged`, async (t) => {
        t.diagnostic(`seed ${random.seed}`)
        assert.deepEqual(await startOn(prepared.image, prepared), { state: prepared.state, aside: [] })
      })
    }
  })

  for (const [kind, prepared] of Object.entries(folders)) {
    for (const name of filesOf[kind as keyof typeof folders]) {
      describe(`${name} of a folder ${kind}`, () => {
        const good = fileIn(prepared.image, name)

        it('that is empty is refused', async () => {
          const outcome = await startOn(replaceFile(prepared.image, name, Buffer.alloc(0)), prepared)
          assert.ok('refusal' in outcome)
        })

        // In a cut file of lines, nothing shows whether more was lost than the frame that was being written.
        it('cut off is refused, or its whole lines are read and the rest is kept aside', async (t) => {
          t.diagnostic(`seed ${random.seed}`)
          for (const { name: what, bytes } of cuts(good, amounts.offsets, random)) {
            const image = replaceFile(prepared.image, name, bytes)
            const outcome = await startWithoutTrail(image, prepared)
            if ('refusal' in outcome) continue
            const wrongFrom = firstWrongLine(good, bytes)
            assert.deepEqual(outcome.state, stateOfBeginning(prepared, name, wrongFrom), what)
            if (!isDeepStrictEqual(outcome.state.records, prepared.state.records))
              await checkWitness(image, prepared, what)
            if (name.endsWith('.jsonl')) checkKept(outcome.aside, bytes.subarray(wrongFrom), what)
          }
        })

        it('with a bit flipped is refused, or nothing is lost', async (t) => {
          t.diagnostic(`seed ${random.seed}`)
          for (const damage of bitFlips(good, amounts.offsets, random))
            await checkDamage(prepared, name, damage)
        })

        it('with bytes inserted or removed is refused, or nothing is lost', async (t) => {
          t.diagnostic(`seed ${random.seed}`)
          for (const damage of shifts(good, amounts.shifts, random)) await checkDamage(prepared, name, damage)
        })

        it('with lines swapped, removed, repeated or overwritten is refused, or nothing is lost', async (t) => {
          t.diagnostic(`seed ${random.seed}`)
          for (const damage of someOf([...wrongLines(good)], amounts.wrongLines))
            await checkDamage(prepared, name, damage)
        })

        it('with a range up to its last line overwritten or removed is refused, or nothing is lost', async (t) => {
          t.diagnostic(`seed ${random.seed}`)
          for (const damage of someOf([...lossesUpToLastLine(good)], amounts.losses))
            await checkDamage(prepared, name, damage)
        })

        it('with bytes appended is refused, or nothing is lost', async () => {
          for (const damage of appendices(good)) await checkDamage(prepared, name, damage)
        })

        it('of a newer version is refused, with the advice to use the newer program', async () => {
          const image = replaceFile(prepared.image, name, newerVersion(good))
          const outcome = await startOn(image, prepared)
          assert.ok('refusal' in outcome)
          const advice =
            /version [345] is unknown to this program, which reads [1234],.* connbook that wrote it, or a newer/
          assert.match(outcome.refusal.message, advice)
        })
      })
    }
  }

  describe('missing files', () => {
    for (const [kind, prepared] of Object.entries(folders)) {
      const present = files.filter((file) => prepared.image.has(file))
      for (const names of subsets(present)) {
        const isExtreme = names.length === 1 || names.length === present.length - 1
        if (names.length === 0 || !(isExtreme || amounts.eachSet)) continue
        const what = `${names.join(', ')} of a folder ${kind}`
        const left = present.filter((name) => !names.includes(name))
        const isLikeNew = left.length === 0
        it(`are ${isLikeNew ? 'not ' : ''}noticed: ${what}`, async () => {
          const image = names.reduce((rest, name) => replaceFile(rest, name, undefined), prepared.image)
          const outcome = await startOn(image, prepared)
          if (!isLikeNew) return assert.ok('refusal' in outcome, 'it started')
          assert.ok('state' in outcome)
          assert.deepEqual([outcome.state.records, outcome.state.areGood.includes(true)], [[], false])
        })
      }
    }
  })

  describe('a file replaced by another', () => {
    for (const [kind, prepared] of Object.entries(folders)) {
      const all = [...swaps(prepared, otherFolders[kind as keyof typeof folders])]
      for (const { what, image } of someOf(all, amounts.swaps)) {
        const isUnnoticed = unnoticed[kind]?.includes(what)
        it(`is ${isUnnoticed ? 'not noticed' : 'refused or harmless'}: ${what} of a folder ${kind}`, async () => {
          const outcome = await startOn(image, prepared)
          if ('refusal' in outcome) return assert.ok(!isUnnoticed, 'it is noticed now')
          const isRight = isDeepStrictEqual(outcome.state, prepared.state)
          if (isUnnoticed) assert.ok(!isRight, 'it does no harm now')
          else assert.deepEqual(outcome.state, prepared.state)
        })
      }
    }
  })
}

function subsets(names: readonly string[]): string[][] {
  const [first, ...rest] = names
  if (first === undefined) return [[]]
  return subsets(rest).flatMap((some) => [some, [first, ...some]])
}

/**
 * Accounts, keys and revocations do not name their folder or the state of the other files. Each of these replacements
 * loses something and is not noticed.
 */
const unnoticed: Record<string, readonly string[]> = {
  compacted: [
    'accounts.json as it was at stop 0',
    'accounts.json as it was at stop 1',
    'accounts.json of another folder',
    'keys.json of another folder',
    'revocations.jsonl as it was at stop 0',
    'revocations.jsonl as it was at stop 1',
    'revocations.jsonl as it was at stop 2',
    'revocations.jsonl as it was at stop 3',
    'revocations.jsonl of another folder',
  ],
  compacting: [
    'accounts.json as it was at stop 0',
    'accounts.json as it was at stop 1',
    'accounts.json of another folder',
    'keys.json of another folder',
    'revocations.jsonl as it was at stop 0',
    'revocations.jsonl as it was at stop 1',
    'revocations.jsonl of another folder',
  ],
}

/** Each file replaced by another one of the same folder, by an earlier copy of itself, and by that of another folder. */
function* swaps(prepared: PreparedFolder, other: PreparedFolder) {
  const { image, earlier } = prepared
  const places = files.filter((name) => image.has(name))
  for (const place of places) {
    const replaceBy = (bytes: Buffer) => replaceFile(image, place, bytes)
    for (const name of places.filter((one) => one !== place)) {
      yield { what: `${name} as ${place}`, image: replaceBy(fileIn(image, name)) }
    }
    for (const [i, before] of earlier.entries()) {
      const bytes = before.get(place)
      if (bytes === undefined || bytes.equals(fileIn(image, place))) continue
      yield { what: `${place} as it was at stop ${i}`, image: replaceBy(bytes) }
    }
    yield { what: `${place} of another folder`, image: replaceBy(fileIn(other.image, place)) }
  }
}
