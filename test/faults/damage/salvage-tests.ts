import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { DamagedFileError } from '../../../src/errors.ts'
import { dataFiles, dataPaths } from '../../../src/files/data-folder.ts'
import { type SalvagedRecords, salvageStore } from '../../../src/storage/file/file-storage.ts'
import { type FolderImage, fileIn, lineOffsets, replaceFile, writeImage } from '../../support/folder-image.ts'
import type { ShownRecord } from '../../support/http-client.ts'
import { type PreparedFolder, prepareFolders } from '../../support/prepared-folder.ts'
import { createRandom } from '../../support/random.ts'
import { folderInMemory } from '../../support/temporary-folder.ts'
import {
  appendices,
  bitFlips,
  cuts,
  type Damage,
  lossesUpToLastLine,
  newerVersion,
  sample,
  shifts,
  wrongLines,
} from './damage-kinds.ts'

/** How many kinds of damage are tried, of those that there are; each of them when infinite. */
export interface SalvageAmounts {
  readonly offsets: number
  readonly shifts: number
  readonly lines: number
}

const filesOf = {
  compacted: [dataFiles.journal, dataFiles.snapshot],
  compacting: [dataFiles.journal, dataFiles.journalOld, dataFiles.snapshot],
}

const random = createRandom()
const suite = { after }
const folders = await prepareFolders(suite)
const folder = join(await folderInMemory(suite), 'data')

async function salvage(image: FolderImage): Promise<SalvagedRecords> {
  await writeImage(folder, image)
  return salvageFolder()
}

const salvageFolder = () => salvageStore(dataPaths(folder))

function shown({ records }: SalvagedRecords): ShownRecord[] {
  return records.map(({ json }) => JSON.parse(json) as ShownRecord)
}

function* damagesOf(good: Buffer, amounts: SalvageAmounts): Generator<Damage> {
  yield* cuts(good, amounts.offsets, random)
  yield* bitFlips(good, amounts.offsets, random)
  yield* shifts(good, amounts.shifts, random)
  const ofLines = [...wrongLines(good), ...lossesUpToLastLine(good)]
  for (const i of sample(ofLines.length, amounts.lines, random)) yield* ofLines.slice(i, i + 1)
  yield* appendices(good)
  yield { name: 'empty', bytes: Buffer.alloc(0) }
}

/** The whole lines of a file that a damage touches, before and after it. */
function touchedLines(good: Buffer, bad: Buffer): { text: string; isToEnd: boolean } {
  const shorter = Math.min(good.length, bad.length)
  let start = 0
  while (start < shorter && good[start] === bad[start]) start += 1
  let behind = 0
  while (behind < shorter - start && good.at(-1 - behind) === bad.at(-1 - behind)) behind += 1
  const linesOf = (bytes: Buffer) => {
    const offsets = lineOffsets(bytes)
    const first = offsets.findLast((offset) => offset < start) ?? 0
    return bytes
      .subarray(
        first,
        offsets.find((offset) => offset > bytes.length - behind),
      )
      .toString()
  }
  const lines = linesOf(good)
  return { text: lines + linesOf(bad), isToEnd: good.toString().endsWith(lines) }
}

/** Every form that a record ever had, as far as the files of a folder show. */
function* formsIn(image: FolderImage): Generator<string> {
  for (const bytes of image.values())
    yield* bytes.toString().match(/\{"id":\d+,"name":[^{}]+(?:\{[^{}]*\})?\}/g) ?? []
}

/** Damages one file of the folder, which is otherwise as the image says. */
async function checkDamage({ image, state }: PreparedFolder, name: string, { name: what, bytes }: Damage) {
  const label = `${name}, ${what}`
  await writeFile(join(folder, name), bytes)
  const salvaged = await salvageFolder().catch((error: unknown) => {
    // A damaged version looks like a newer one, and no checksum shows which it is.
    const isVersion =
      name === dataFiles.snapshot && /^.{30}"version":(?:[3-9]|[1-9]\d)/.test(bytes.toString('latin1'))
    if (!isVersion) throw error
    return undefined
  })
  if (salvaged === undefined) return
  const kept = new Map(shown(salvaged).map((record) => [record.id, record]))
  assert.equal(kept.size, salvaged.records.length, label)
  assert.equal(new Set(salvaged.records.map((record) => record.name)).size, kept.size, label)

  const { text, isToEnd } = touchedLines(fileIn(image, name), bytes)
  const isNamed = (record: ShownRecord) =>
    text.includes(`"id":${record.id},`) || text.includes(JSON.stringify(record.name))
  for (const record of state.records) {
    if (!isNamed(record)) assert.deepEqual(kept.get(record.id), record, label)
  }
  if (name !== dataFiles.snapshot) {
    const forms = new Set(formsIn(image))
    for (const { json } of salvaged.records) assert.ok(forms.has(json), `${label}: ${json} was never stored`)
  }
  // What is lost at the end of a file leaves no trace in it.
  if (!isToEnd) assert.ok(salvaged.lastId + 1 >= state.nextId, `${label}: id ${salvaged.lastId} again`)
}

/** Describes what is salvaged from damaged files. */
export function describeSalvage(amounts: SalvageAmounts): void {
  for (const [kind, prepared] of Object.entries(folders)) {
    describe(`a folder ${kind}`, () => {
      it('gives all of its records if it is sound', async () => {
        const salvaged = await salvage(prepared.image)
        assert.deepEqual(shown(salvaged), prepared.state.records)
        const { lastId, missing, misfits, displaced, unreadable, isUnverified, foreign } = salvaged
        assert.deepEqual(
          { nextId: lastId + 1, missing, misfits, displaced, unreadable, isUnverified, foreign },
          {
            nextId: prepared.state.nextId,
            missing: [],
            misfits: 0,
            displaced: [],
            unreadable: 0,
            isUnverified: false,
            foreign: [],
          },
        )
      })

      for (const name of filesOf[kind as keyof typeof folders]) {
        it(`keeps what the damaged lines of ${name} do not name`, async (t) => {
          t.diagnostic(`seed ${random.seed}`)
          await writeImage(folder, prepared.image)
          for (const damage of damagesOf(fileIn(prepared.image, name), amounts))
            await checkDamage(prepared, name, damage)
        })

        it(`gives nothing of a newer ${name}`, async () => {
          const image = replaceFile(prepared.image, name, newerVersion(fileIn(prepared.image, name)))
          await assert.rejects(salvage(image), (error) => {
            assert.ok(error instanceof DamagedFileError)
            assert.match(error.message, /written by a newer connbook.*use the connbook that wrote it/)
            return true
          })
        })
      }
    })
  }
}
