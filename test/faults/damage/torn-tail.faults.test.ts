import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { dataFiles } from '../../../src/files/data-folder.ts'
import { runExecutable, startExecutable } from '../../support/executable.ts'
import { type FolderImage, fileIn, lineOffsets, replaceFile, writeImage } from '../../support/folder-image.ts'
import { createClient, recordsIn, type ShownRecord } from '../../support/http-client.ts'
import { type PreparedFolder, prepareFolders, withoutTrail } from '../../support/prepared-folder.ts'
import { createRandom } from '../../support/random.ts'
import { start, type TestService } from '../../support/service.ts'
import { draft } from '../../support/store.ts'
import { folderInMemory } from '../../support/temporary-folder.ts'
import { sample } from './damage-kinds.ts'

const LENGTHS = Number.POSITIVE_INFINITY
/** With bytes behind it. */
const LENGTHS_BEFORE = 20

const random = createRandom()
const suite = { after }
const { compacted, compacting } = await prepareFolders(suite)
const folder = join(await folderInMemory(suite), 'data')

/** A file with a torn tail, and the size of its intact lines. */
interface TornFile {
  readonly what: string
  readonly bytes: Buffer
  readonly goodBytes: number
}

/** Every way in which the last line may be half-written, and other bytes that may be in its place. */
function* tornTails(bytes: Buffer): Generator<TornFile> {
  const offsets = lineOffsets(bytes)
  const last = bytes.subarray(offsets.at(-2))
  const before = bytes.subarray(0, offsets.at(-2))
  const oldLine = bytes.subarray(offsets[1], offsets[2])
  const behind = {
    'nothing behind': Buffer.alloc(0),
    'NULs behind': Buffer.alloc(600),
    'garbage behind': Buffer.from('garbage \u00ff {"\n\n', 'latin1'),
    'an old frame behind': oldLine,
    'its rest from another write behind': Buffer.from('0'.repeat(last.length)),
  }
  for (const [what, tail] of Object.entries(behind)) {
    const count = tail.length === 0 ? LENGTHS : LENGTHS_BEFORE
    for (const length of sample(last.length, count, random)) {
      const rest = what.startsWith('its rest') ? tail.subarray(length) : tail
      const torn = Buffer.concat([last.subarray(0, length), rest])
      yield {
        what: `${length} of ${last.length} bytes, ${what}`,
        bytes: Buffer.concat([before, torn]),
        goodBytes: before.length,
      }
    }
    if (tail.length > 0 && !what.startsWith('its rest')) {
      yield { what: `the whole frame, ${what}`, bytes: Buffer.concat([bytes, tail]), goodBytes: bytes.length }
    }
  }
}

async function tornFilesIn(image: FolderImage): Promise<Buffer[]> {
  const names = (await readdir(folder)).filter((name) => name.includes('.torn-') && !image.has(name))
  return Promise.all(names.map((name) => readFile(join(folder, name))))
}

/** Runs the service on the folder during an action. */
async function serve<T>(action: (service: TestService) => Promise<T>): Promise<T> {
  const cleanUps: (() => void | Promise<void>)[] = []
  try {
    return await action(
      await start({ after: (step) => void cleanUps.push(step) }, { folder, environment: {} }),
    )
  } finally {
    for (const step of cleanUps) await step()
  }
}

const clientOf = (url: string, { credentials }: PreparedFolder) => createClient(url, credentials[0])

async function readRecords(url: string, prepared: PreparedFolder): Promise<ShownRecord[]> {
  return recordsIn(await clientOf(url, prepared)('GET', '/configurations/'))
}

/** The records if only so many bytes of the journal count. */
function recordsAfter({ steps }: PreparedFolder, bytes: number): readonly ShownRecord[] {
  return steps.findLast((step) => step.bytes <= bytes)?.records ?? assert.fail('nothing is left')
}

/** Starts on a torn file, makes a change, starts again. */
async function checkTorn(
  prepared: PreparedFolder,
  image: FolderImage,
  torn: TornFile,
  records: readonly ShownRecord[],
) {
  await writeImage(folder, withoutTrail(image))
  const cutOff = torn.bytes.subarray(torn.goodBytes)
  const kept = cutOff.length > 0 ? [cutOff] : []
  const added = await serve(async ({ url }) => {
    assert.deepEqual(await readRecords(url, prepared), records, torn.what)
    const body = draft('after the tear')
    const [record] = recordsIn(await clientOf(url, prepared)('POST', '/configurations/', { body }))
    await checkCredentials(url, prepared, torn.what)
    return record
  })
  assert.deepEqual(await tornFilesIn(image), kept, `${torn.what}: the tail is not kept`)
  await serve(async ({ url }) => {
    assert.deepEqual(await readRecords(url, prepared), [...records, added], torn.what)
    await checkCredentials(url, prepared, torn.what)
  })
  assert.deepEqual(await tornFilesIn(image), kept, `${torn.what}: torn twice`)
}

async function checkCredentials(url: string, { credentials, state }: PreparedFolder, what: string) {
  const answers = await Promise.all(
    credentials.map((headers) => createClient(url, headers)('GET', '/configurations/')),
  )
  assert.deepEqual(
    answers.map(({ status }) => status === 200),
    state.areGood,
    what,
  )
}

describe('a torn tail', () => {
  for (const [kind, prepared] of Object.entries({ compacted, compacting })) {
    it(`of the journal of a folder ${kind} loses at most that frame, is kept aside, and stops no service`, async (t) => {
      t.diagnostic(`seed ${random.seed}`)
      for (const torn of tornTails(fileIn(prepared.image, dataFiles.journal))) {
        const image = replaceFile(prepared.image, dataFiles.journal, torn.bytes)
        await checkTorn(prepared, image, torn, recordsAfter(prepared, torn.goodBytes))
      }
    })
  }

  it('of the revocations makes no session or token valid again, is kept aside, and stops no service', async (t) => {
    t.diagnostic(`seed ${random.seed}`)
    for (const torn of tornTails(fileIn(compacted.image, dataFiles.revocations))) {
      const image = replaceFile(compacted.image, dataFiles.revocations, torn.bytes)
      await checkTorn(compacted, image, torn, compacted.state.records)
    }
  })

  it('of the old journal loses at most the torn frame while there is no new journal', async (t) => {
    t.diagnostic(`seed ${random.seed}`)
    const { image, steps } = compacting
    const old = fileIn(image, dataFiles.journalOld)
    const lastLine = lineOffsets(old).at(-2) ?? 0
    const alone = replaceFile(image, dataFiles.journal, undefined)
    await writeImage(
      folder,
      withoutTrail(replaceFile(alone, dataFiles.journalOld, old.subarray(0, lastLine))),
    )
    const recordsBefore = await serve(({ url }) => readRecords(url, compacting))
    assert.notDeepEqual(recordsBefore, steps[0]?.records)
    for (const torn of tornTails(old)) {
      const records = torn.goodBytes < old.length ? recordsBefore : (steps[0]?.records ?? [])
      await checkTorn(compacting, replaceFile(alone, dataFiles.journalOld, torn.bytes), torn, records)
    }
  })

  it('behind the old journal loses nothing and is kept aside when there is a new journal', async () => {
    const { image, state } = compacting
    const old = fileIn(image, dataFiles.journalOld)
    for (const torn of tornTails(old)) {
      if (torn.goodBytes < old.length) continue
      await checkTorn(compacting, replaceFile(image, dataFiles.journalOld, torn.bytes), torn, state.records)
    }
  })
})

describe('the executable on a torn tail', () => {
  it('starts, logs what it set aside, and starts again after another kill', async (t) => {
    const journal = fileIn(compacted.image, dataFiles.journal)
    const offset = lineOffsets(journal).at(-2) ?? 0
    const torn = replaceFile(compacted.image, dataFiles.journal, journal.subarray(0, offset + 9))
    await writeImage(folder, withoutTrail(torn))
    const first = await startExecutable(t, ['--data', folder])
    const line =
      first
        .stderr()
        .split('\n')
        .find((text) => text.includes('torn_tail_set_aside')) ?? ''
    const { level, file, offset: at, bytes, kept_as } = JSON.parse(line)
    assert.deepEqual([level, file, at, bytes], ['warn', join(folder, dataFiles.journal), offset, 9])
    assert.deepEqual(await readFile(join(folder, kept_as)), journal.subarray(offset, offset + 9))
    const body = draft('after the tear')
    assert.equal((await clientOf(first.url, compacted)('POST', '/configurations/', { body })).status, 200)
    await first.stop('SIGKILL')

    const second = await startExecutable(t, ['--data', folder])
    const found = await readRecords(second.url, compacted)
    assert.deepEqual(found.slice(0, -1), recordsAfter(compacted, offset))
    assert.equal(found.at(-1)?.name, 'after the tear')
    assert.equal(await second.stop(), 0)
    assert.equal((await runExecutable(['user', 'list', '--data', folder])).code, 0)
  })
})
