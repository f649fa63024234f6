import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { appendFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { LISTED_NAMES_MAX, readListedChanges } from '../../src/audit/listed-changes.ts'
import { auditFiles, dataPaths } from '../../src/files/data-folder.ts'
import { IMPORT_AUDITED_RECORDS_MAX } from '../../src/limits.ts'
import { storeOfTag } from '../../src/store/list-tag.ts'
import { createFailingFiles, failOn, systemError } from '../support/failing-files.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const STORE = '0a1b2c3d4e5f'
const OTHER = 'f0e0d0c0b0a0'

const started = (revision: number, store = STORE) => ({
  event: 'started',
  tag: `${storeOfTag(store)}-${revision}`,
})
const added = (revision: number, store = STORE) => ({
  ...started(revision, store),
  event: 'configuration_added',
  record: { id: revision + 100, name: `name ${revision}` },
})
const imported = (revision: number, changes: number) => ({
  ...started(revision),
  event: 'configurations_imported',
  added: changes - 1,
  modified: 0,
  removed: 1,
})

type Line = object | string

const text = (lines: readonly Line[]) =>
  lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join('')

/** @param files Their lines, newest file first. */
async function listedIn(t: TestContext, ...files: (readonly Line[])[]) {
  const folder = await temporaryFolder(t)
  for (const [i, lines] of files.entries()) await writeFile(join(folder, auditFiles[i] ?? ''), text(lines))
  const listed = await readListedChanges(dataPaths(folder))
  return { folder, listed, found: listed(STORE) }
}

/** Revisions from 1 to `last` that need a line. */
function missing(found: { has(revision: number): boolean } | undefined, last: number): number[] {
  const all = Array.from({ length: last }, (_, i) => i + 1)
  return all.filter((revision) => found?.has(revision) === false)
}

describe('the changes that a trail lists', () => {
  it('are empty without a trail, or when the trail names no revision', async (t) => {
    const { found, listed } = await listedIn(t)
    assert.equal(found, undefined)
    assert.equal(listed(OTHER), undefined)
    const { found: untagged } = await listedIn(t, [{ event: 'started', pid: 1 }, { event: 'logged_in' }])
    assert.equal(untagged, undefined)
  })

  it('end with the last line of the trail', async (t) => {
    const { found } = await listedIn(t, [started(2), added(3), added(4)])
    assert.deepEqual(missing(found, 6), [5, 6])
    assert.equal(found?.highest, 4)
  })

  it('begin with the first one where no start is named', async (t) => {
    const { found } = await listedIn(t, [added(3), added(4)])
    assert.deepEqual(missing(found, 5), [5])
  })

  it('have a gap where a power loss took lines, but none before the last start', async (t) => {
    const lines = [started(0), added(1), added(3), started(3), added(4), added(6), added(7), added(9)]
    const { found } = await listedIn(t, lines)
    assert.deepEqual(missing(found, 10), [5, 8, 10])
  })

  it('do not exhaust memory or time, whatever number a damaged line names', async (t) => {
    const lines = [started(0), added(1), imported(10 ** 12 - 1, 10 ** 12 - 5), added(10 ** 11)]
    const { found } = await listedIn(t, lines)
    assert.deepEqual([found?.has(2), found?.has(10 ** 11)], [false, true])
    const { found: none } = await listedIn(t, [started(0), added(10 ** 15)])
    assert.equal(none?.highest, 0)
  })

  it('are not proved by a line that follows on none: one digit of it may be damaged', async (t) => {
    const whole = [started(0), added(1), added(2), added(3)]
    for (const [lines, highest] of [
      [whole, 3],
      [[started(8), ...whole.slice(1)], 3],
      [[...whole.slice(0, 2), added(6), added(3)], 1],
      [[...whole.slice(0, 3), added(7)], 2],
      [[...whole, started(7)], 3],
      [[...whole, imported(9_000, 5_000)], 3],
      [[...whole, imported(5_003, 5_000), added(5_004)], 5_004],
      [[started(8)], 8],
    ] as const) {
      const { found } = await listedIn(t, lines)
      assert.equal(found?.highest, highest, JSON.stringify(lines))
    }
    const { found, folder } = await listedIn(t, [...whole, added(7), added(8), added(12)])
    assert.deepEqual([found?.highest, found?.claimed], [8, 12])
    const damaged: unknown[] = []
    await readListedChanges(dataPaths(folder), { onDamaged: (lines) => damaged.push(lines) })
    assert.deepEqual(damaged, [{ file: auditFiles[0], line: 7, count: 1 }])
  })

  it('are proved by a line after lost ones, which is not damaged', async (t) => {
    const lost = { event: 'lines_lost', count: 4 }
    const whole = [started(0), added(1), added(2)]
    for (const [lines, highest, strays] of [
      [[...whole, lost, added(7)], 7, 0],
      [[...whole, lost, { event: 'logged_in' }, added(3), added(8), added(9)], 9, 0],
      [[...whole, lost, imported(5_006, 5_000)], 5_006, 0],
      // More are missing than lines are lost.
      [[...whole, lost, added(8)], 2, 1],
      [[...whole, lost, added(5), added(9)], 5, 1],
      [[...whole, { ...lost, count: 'x' }, added(7)], 2, 1],
      [[...whole, added(7), lost, added(3)], 3, 1],
      [[lost, ...whole, added(7)], 2, 1],
    ] as const) {
      const { folder, found } = await listedIn(t, lines)
      assert.equal(found?.highest, highest, JSON.stringify(lines))
      let count = 0
      await readListedChanges(dataPaths(folder), { onDamaged: (damaged) => (count += damaged.count) })
      assert.equal(count, strays, JSON.stringify(lines))
    }
  })

  it('name the files with damaged lines, and go on behind them', async (t) => {
    const { name: _, ...nameless } = added(2).record
    const labelled = { event: 'configurations_changed', changed: { labels: { tag: 'x' } } }
    const { folder } = await listedIn(
      t,
      [
        ...[
          added(3),
          { ...added(4), tag: 'x' },
          '',
          { ...added(4), record: { ...nameless, nam: 'x' } },
          labelled,
        ],
        ...[`{"tag":"${JSON.stringify(added(4))}`, '"event":"logged_in"}', added(4), added(6)],
      ],
      [started(0), added(1), added(2)],
    )
    await appendFile(join(folder, auditFiles[0]), '{"time":"half a li')
    const damaged: unknown[] = []
    const listed = await readListedChanges(dataPaths(folder), { onDamaged: (lines) => damaged.push(lines) })
    assert.deepEqual(damaged, [{ file: auditFiles[0], line: 2, count: 4 }])
    assert.deepEqual([listed(STORE)?.highest, missing(listed(STORE), 7)], [4, [5, 7]])
  })

  it('prove a change also behind NULs, but do not count as its line', async (t) => {
    const { found } = await listedIn(t, [started(0), `\0\0${JSON.stringify(added(1))}`])
    assert.deepEqual([found?.highest, missing(found, 1)], [1, [1]])
  })

  it('end at a block that the disk cannot read', async (t) => {
    const { folder } = await listedIn(t, [started(0), added(1)])
    const files = createFailingFiles()
    files.readBytesMax = 60
    let reads = 0
    files.before = (operation) => {
      if (operation === 'read' && ++reads > 4) throw systemError('EIO')
    }
    const found = (await readListedChanges(dataPaths(folder, files)))(STORE)
    assert.ok(found === undefined || found.highest <= 1)
    failOn(files, 'open', 'audit', 'EIO', 10)
    assert.equal((await readListedChanges(dataPaths(folder, files)))(STORE), undefined)
  })

  it('are kept apart by store', async (t) => {
    const { found, listed } = await listedIn(t, [started(7, OTHER), added(8, OTHER), started(0), added(1)])
    assert.deepEqual(missing(found, 2), [2])
    assert.equal(listed(OTHER)?.highest, 8)
  })

  it('are found in older files, up to the last start', async (t) => {
    const { found } = await listedIn(
      t,
      [added(6)],
      [added(5)],
      [started(3), added(4)],
      [started(0), added(9)],
    )
    assert.deepEqual(missing(found, 7), [7])
    assert.equal(found?.highest, 6)
  })

  it('do not count where a line is torn, damaged or only looks like one', async (t) => {
    const line = JSON.stringify(added(2))
    const { folder } = await listedIn(t, [
      started(0),
      added(1),
      line.slice(0, -1),
      `\0\0\0${line}`,
      { event: 'configuration_added', record: { name: '"tag":"0a1b2c3d-2"' } },
      { ...added(2), tag: 2 },
    ])
    await appendFile(join(folder, auditFiles[0]), line.slice(0, -2))
    const found = (await readListedChanges(dataPaths(folder)))(STORE)
    assert.deepEqual(missing(found, 2), [2])
  })

  it('include a large import, which has one line, but not a small one, whose changes have their own', async (t) => {
    const large = IMPORT_AUDITED_RECORDS_MAX + 1
    const { found } = await listedIn(t, [started(0), imported(large, large), added(large + 1)])
    assert.deepEqual(missing(found, large + 2), [large + 2])
    const { found: small } = await listedIn(t, [started(0), imported(2, 2), added(1)])
    assert.deepEqual(missing(small, 2), [2])
  })

  it('above a revision are named, at most the first few', async (t) => {
    const last = LISTED_NAMES_MAX + 5
    const lines = Array.from({ length: last }, (_, i) => added(i + 1))
    const { found } = await listedIn(t, [started(0), ...lines])
    assert.deepEqual(found?.after(last - 1), { count: 1, names: [`"name ${last}" (id ${last + 100})`] })
    const { count, names } = found?.after(1) ?? assert.fail()
    assert.deepEqual([count, names.length, names[0]], [last - 1, LISTED_NAMES_MAX, '"name 2" (id 102)'])
  })
})
