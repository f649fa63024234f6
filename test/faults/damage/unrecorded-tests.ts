import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { auditFiles, dataFiles } from '../../../src/files/data-folder.ts'
import { isObject, parseJson } from '../../../src/json.ts'
import { type FolderImage, fileIn, lineOffsets, replaceFile, writeImage } from '../../support/folder-image.ts'
import { prepareFolders, stateOf } from '../../support/prepared-folder.ts'
import { createRandom } from '../../support/random.ts'
import { start } from '../../support/service.ts'
import { folderInMemory } from '../../support/temporary-folder.ts'
import { bitFlips, type Damage } from './damage-kinds.ts'

// Files that are no record: whatever is damaged in them, the server starts, and nothing is lost.

const [TRAIL, OLDER_TRAIL] = auditFiles

const random = createRandom()
const suite = { after }
const { compacted: prepared } = await prepareFolders(suite)
const folder = join(await folderInMemory(suite), 'data')
const image = withOtherFiles(prepared.image)
const headers = prepared.credentials[0] as Record<string, string>

/** The files that a start reads, or finds, and that are no record. */
export const unrecordedFiles = [
  TRAIL,
  OLDER_TRAIL,
  dataFiles.history,
  dataFiles.initialCredentials,
  '.last-backup',
]

/** The image with files of every kind: a trail that was rotated before its last start, and what a backup and a restore leave. */
function withOtherFiles(image: FolderImage): FolderImage {
  const trail = fileIn(image, TRAIL)
  const lines = lineOffsets(trail)
  const cut = lines[Math.floor(lines.length / 2)] ?? 0
  const older = [
    '{"time":"2026-01-01T00:00:00.000Z","event":"configuration_added","by":"x","record":{"id":900,"name":"gone"}}',
  ]
  const history = older.map((line) => line.replace('"record"', `"tag":"${'0'.repeat(8)}-1","record"`))
  return new Map([
    ...image,
    [TRAIL, trail.subarray(cut)],
    [OLDER_TRAIL, trail.subarray(0, cut)],
    [dataFiles.history, Buffer.from(`${history.join('\n')}\n`)],
    ['.last-backup', Buffer.from(`${new Date().toISOString()}\n`)],
  ])
}

/** Starts on a damaged file; finds all there is, and the histories. @returns What is said of damage. */
async function startOn(damaged: FolderImage, what: string): Promise<readonly Record<string, unknown>[]> {
  await writeImage(folder, damaged)
  const cleanUps: (() => void | Promise<void>)[] = []
  try {
    const service = await start({ after: (step) => void cleanUps.push(step) }, { folder, environment: {} })
    for (const path of ['/v1/history?limit=100', '/v1/history?name=renamed', '/v1/history/renamed']) {
      // A damaged line may still be JSON, and then shows as it is: its body is not compared with what is described.
      const { status, body } = await service.call(path, { headers })
      await body?.cancel()
      assert.equal(status, 200, `${what}: ${path}`)
    }
    assert.deepEqual(await stateOf(service, prepared), prepared.state, what)
    await service.stop()
    const events = service.log.lines.map((line) => JSON.parse(line) as Record<string, unknown>)
    assert.ok(!events.some(({ event }) => event === 'unforeseen_error'), what)
    return events.filter(({ event }) => event === 'audit_damaged')
  } finally {
    for (const step of cleanUps) await step()
  }
}

/** The number of the line that cannot be read any more; undefined if each is still JSON. */
function unreadableLine(bytes: Buffer): number | undefined {
  const lines = bytes.toString('latin1').split('\n').slice(0, -1)
  const found = lines.findIndex((line) => line !== '' && !isObject(parseJson(line)))
  return found === -1 ? undefined : found + 1
}

/** Which lines are read in any case: those with a tag. The start of each is looked at, too. */
function isNamedFor(good: Buffer, number: number): boolean {
  return good.toString('latin1').split('\n')[number - 1]?.includes('"tag":"') === true
}

/** Describes what a start makes of a flipped bit in files that are no record. @param count Bytes of each file. */
export function describeUnrecorded(count: number): void {
  describe('a file that is no record', () => {
    it('keeps no start from finding all when it is whole', async (t) => {
      t.diagnostic(`seed ${random.seed}`)
      assert.deepEqual(await startOn(image, 'whole'), [])
    })

    for (const name of unrecordedFiles) {
      it(`keeps no start from finding all when a bit of it is flipped: ${name}`, async (t) => {
        t.diagnostic(`seed ${random.seed}`)
        const good = fileIn(image, name)
        let named = 0
        for (const { name: what, bytes } of bitFlips(good, count, random)) {
          const said = await startOn(replaceFile(image, name, bytes), `${name}, ${what}`)
          named += said.length
          if (name === TRAIL) checkNamed({ name: what, bytes }, good, said)
        }
        t.diagnostic(`${named} of ${Math.min(count, good.length)} starts named damage`)
      })
    }
  })
}

/** What cannot be read of the lines since the last start is named, with file and line. */
function checkNamed({ name, bytes }: Damage, good: Buffer, said: readonly Record<string, unknown>[]) {
  const line = unreadableLine(bytes)
  // A line break that is lost or new moves the others.
  if (line === undefined || lineOffsets(bytes).length !== lineOffsets(good).length) return
  if (!isNamedFor(good, line) || !bytes.toString('latin1').split('\n')[line - 1]?.includes('"tag":"')) return
  assert.deepEqual(
    said.map(({ file, line, count }) => ({ file, line, count })),
    [{ file: join(folder, TRAIL), line, count: 1 }],
    name,
  )
}
