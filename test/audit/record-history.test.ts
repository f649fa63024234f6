import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { rename, rm, symlink, writeFile } from 'node:fs/promises'
import { describe, it, type TestContext } from 'node:test'
import { RecordHistories } from '../../src/audit/record-history.ts'
import type { Turn } from '../../src/audit/trail-scan.ts'
import { TRAIL_PIECE_BYTES } from '../../src/audit/trail-scan.ts'
import { TrailUnavailableError } from '../../src/errors.ts'
import { auditFiles, dataPaths } from '../../src/files/data-folder.ts'
import { createFailingFiles } from '../support/failing-files.ts'
import { createMemoryLog } from '../support/memory-log.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const STORE = 'store001'
const at = (revision: number) => new Date(Date.UTC(2026, 0, 1) + revision).toISOString()
const line = (revision: number, event: string, more: object, store = STORE) =>
  JSON.stringify({ time: at(revision), event, by: 'someone', tag: `${store}-${revision}`, ...more })
const added = (revision: number, id: number, name = `name ${id}`, store = STORE) =>
  line(revision, 'configuration_added', { record: { id, name } }, store)
const modified = (revision: number, id: number, changed: object = { port: { before: 1, after: 2 } }) =>
  line(revision, 'configuration_modified', { id, name: `name ${id}`, changed })
const started = (revision: number) => line(revision, 'started', {})

const atOnce: Turn = async (piece) => piece()

/** @param texts Lines of the files, newest file first. */
async function trailOf(t: TestContext, ...texts: (readonly string[])[]) {
  const files = createFailingFiles()
  const paths = dataPaths(await temporaryFolder(t), files)
  for (const [i, lines] of texts.entries())
    await writeFile(paths.file(auditFiles[i] ?? 'audit.jsonl'), lines.map((each) => `${each}\n`).join(''))
  const histories = new RecordHistories(paths, { written: async () => {} }, createMemoryLog())
  const read = async (id: number, revision: number, limit = 100, turn = atOnce) => {
    const { history, since } = await histories.read({ store: STORE, revision }, id, limit, turn)
    return { times: history.map(({ time }) => time), since }
  }
  const holderOf = (name: string, revision: number) =>
    histories.findLastHolder({ store: STORE, revision }, name, atOnce)
  return { files, paths, histories, read, holderOf }
}

describe('the history in a trail', () => {
  it('has each change once, in the order of revisions, however the lines stand in the files', async (t) => {
    const lines = [
      [modified(3, 1), modified(3, 1)],
      [added(1, 1), modified(2, 2), modified(4, 1)],
    ]
    const { read, holderOf } = await trailOf(t, ...lines)
    assert.deepEqual(await read(1, 4), { times: [at(4), at(3), at(1)], since: at(1) })
    assert.deepEqual(await read(1, 4, 1), { times: [at(4)], since: at(4) })
    assert.equal(await holderOf('name 1', 4), 1)
  })

  it('finds the last holder of a name by revision', async (t) => {
    const { holderOf } = await trailOf(t, [added(3, 1, 'x'), added(5, 3, 'x'), added(4, 2, 'x')])
    assert.deepEqual(
      [await holderOf('x', 5), await holderOf('x', 4), await holderOf('y', 5)],
      [3, 2, undefined],
    )
  })

  it('leaves out later changes than those that are asked for, and other stores', async (t) => {
    const { read } = await trailOf(t, [
      added(1, 1, 'name 1', 'store000'),
      added(2, 1),
      modified(3, 1),
      modified(4, 1),
    ])
    assert.deepEqual(await read(1, 3), { times: [at(3), at(2)], since: at(2) })
  })

  it('is without a gap where lines say which change they follow on', async (t) => {
    const after = (revision: number, before: number, id: number) =>
      line(revision, 'configuration_modified', { after: before, id, name: `name ${id}`, changed: {} })
    const { read } = await trailOf(
      t,
      [line(30, 'started', { after: 20 }), after(34, 30, 1)],
      [started(2), line(7, 'configuration_added', { after: 2, record: { id: 1, name: 'name 1' } })],
      [],
    )
    assert.deepEqual(await read(1, 34), { times: [at(34), at(7)], since: at(30) })
  })

  it('of all is without a gap where counted changes of a cluster say which change they follow on', async (t) => {
    const counted = (more: object) => line(5_000, 'configurations_imported', { added: 1_001, ...more })
    const sinceOf = async (more: object) => {
      const { histories } = await trailOf(t, [started(20), counted(more)])
      const asked = { store: STORE, revision: 5_000 }
      return (await histories.readAll(asked, { limit: 9 }, () => undefined, atOnce)).since
    }
    assert.equal(await sinceOf({ follows: 20 }), at(20))
    assert.equal(await sinceOf({ follows: 4_000 }), at(5_000))
    assert.equal(await sinceOf({}), at(5_000))
  })

  it('is not confused by a label that looks like a tag', async (t) => {
    const record = { id: 1, name: 'a', labels: { tag: `${STORE}-2`, id: '5' } }
    const { read } = await trailOf(t, [started(0), line(1, 'configuration_added', { record }), added(3, 5)])
    assert.deepEqual(await read(1, 1), { times: [at(1)], since: at(1) })
    assert.deepEqual(await read(9, 3), { times: [], since: at(3) })
  })

  it('checks a line once, however many labels look like tags', async (t) => {
    const labels = Object.fromEntries(Array.from({ length: 32 }, (_, i) => [`k${i}g`, `${STORE}-1`]))
    const lines = [started(0), line(1, 'configuration_added', { record: { id: 1, name: 'a', labels } })]
    const { read } = await trailOf(t, lines)
    const parse = t.mock.method(JSON, 'parse')
    assert.deepEqual(await read(1, 1), { times: [at(1)], since: at(1) })
    // Others in this process may parse, too.
    const parsed = parse.mock.calls.map((call) => call.arguments[0]).filter((text) => lines.includes(text))
    assert.deepEqual(parsed, lines)
  })

  it('parses no line of another record', async (t) => {
    const others = [modified(3, 2), added(4, 11), modified(5, 12)]
    const { read } = await trailOf(t, [added(1, 1), modified(2, 1), ...others, modified(6, 1)])
    const parse = t.mock.method(JSON, 'parse')
    assert.deepEqual(await read(1, 6), { times: [at(6), at(2), at(1)], since: at(1) })
    const parsed = new Set(parse.mock.calls.map((call) => call.arguments[0]))
    assert.deepEqual(
      others.filter((text) => parsed.has(text)),
      [],
    )
    assert.ok(parsed.has(modified(6, 1)))
  })

  it('takes lines after NULs, and goes on after a line longer than a piece', async (t) => {
    const { read } = await trailOf(t, [
      started(0),
      `\0\0${added(1, 1)}`,
      'x'.repeat(2 * TRAIL_PIECE_BYTES),
      modified(2, 1),
      'y'.repeat(TRAIL_PIECE_BYTES - 50),
      modified(3, 1),
    ])
    assert.deepEqual(await read(1, 3), { times: [at(3), at(2), at(1)], since: at(1) })
    assert.deepEqual(await read(9, 3), { times: [], since: at(0) })
  })

  it('says who made a change, but not the address or the request', async (t) => {
    const who = { address: '192.0.2.1', request_id: 'r1', record: { id: 1, name: 'a' } }
    const { histories } = await trailOf(t, [
      line(1, 'configuration_added', { ...who, kind: 'user', by: 'admin' }),
      line(2, 'configuration_deleted', { ...who, command: 'import', by: 'root' }),
    ])
    const { history } = await histories.read({ store: STORE, revision: 2 }, 1, 20, atOnce)
    const what = { id: 1, name: 'a', record: who.record }
    assert.deepEqual(history, [
      {
        time: at(2),
        event: 'configuration_deleted',
        by: 'root',
        kind: 'command',
        command: 'import',
        ...what,
      },
      { time: at(1), event: 'configuration_added', by: 'admin', kind: 'user', ...what },
    ])
  })

  it('fails when a file of the trail is not a plain file', async (t) => {
    const { paths, read } = await trailOf(t, [added(1, 1)])
    const path = paths.file('audit.jsonl')
    await rm(path)
    await symlink('/dev/zero', path)
    await assert.rejects(read(1, 1), TrailUnavailableError)
  })

  it('is complete from a start of the server on, if older lines are gone', async (t) => {
    const { read } = await trailOf(t, [started(7), modified(8, 1)])
    assert.deepEqual(await read(1, 8), { times: [at(8)], since: at(7) })
    assert.deepEqual(await read(1, 7), { times: [], since: at(7) })
  })

  it('misses nothing when files are rotated while it reads them', async (t) => {
    const lines = [[modified(4, 1)], [modified(3, 2)], [modified(2, 1)], [added(1, 1)]]
    for (const rotateAt of auditFiles) {
      const { files, paths, read } = await trailOf(t, ...lines)
      const rotate = async () => {
        for (let i = 3; i >= 0; i--)
          await rename(
            paths.file(auditFiles[i] ?? 'audit.jsonl'),
            paths.file(auditFiles[i + 1] ?? 'audit.jsonl'),
          )
        await writeFile(paths.file('audit.jsonl'), `${modified(5, 1)}\n`)
      }
      let isDue = true
      files.before = (operation, path) => {
        if (!isDue || operation !== 'open' || !path.endsWith(rotateAt)) return
        isDue = false
        return rotate()
      }
      assert.deepEqual(await read(1, 4), { times: [at(4), at(2), at(1)], since: at(1) }, rotateAt)
    }
  })

  it('reads each piece in its turn, and stops when it gets no turn', async (t) => {
    const long = Array.from({ length: 5_000 }, (_, i) => modified(i + 2, 1 + (i % 2)))
    const { files, read } = await trailOf(t, [], [added(1, 1), ...long])
    let turns = 0
    await read(3, 5_001, 100, async (piece) => {
      turns += 1
      return piece()
    })
    const bytes = [added(1, 1), ...long].join('\n').length + 1
    assert.ok(turns >= bytes / TRAIL_PIECE_BYTES, `${turns} turns`)
    files.calls.length = 0
    const gone = new TrailUnavailableError('gone')
    await assert.rejects(
      read(3, 5_001, 100, async () => {
        throw gone
      }),
      gone,
    )
    assert.equal(files.calls.filter((call) => call.startsWith('read ')).length, 1)
  })
})
