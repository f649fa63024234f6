import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { appendFile, link, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type AuditTrail, openAuditTrail } from '../../src/audit/audit-trail.ts'
import {
  AUDIT_RETRY_MS,
  AUDIT_WAITING_LINES_MAX,
  AUDIT_WRITE_PAUSE_MS,
} from '../../src/audit/trail-writer.ts'
import { dataPaths } from '../../src/files/data-folder.ts'
import { Configuration } from '../../src/store/configuration.ts'
import { eventually } from '../support/eventually.ts'
import { createFailingFiles, failOn, holdUp, systemError } from '../support/failing-files.ts'
import { holdTimers } from '../support/held-timers.ts'
import { createMemoryLog } from '../support/memory-log.ts'
import { skipPauses } from '../support/skipped-pauses.ts'
import { draft, someone } from '../support/store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

interface Line {
  readonly event: string
  readonly n?: number
  readonly count?: number
  readonly tag?: string
}

const caller = {
  requestId: 'r1',
  address: '192.0.2.1',
  principal: { kind: 'user', name: 'admin', scope: 'read write' },
} as const

async function setUp(t: TestContext, bytesMax?: number) {
  const path = await temporaryFolder(t)
  const files = createFailingFiles()
  const log = createMemoryLog()
  const open = async () => {
    const trail = await openAuditTrail(dataPaths(path, files), log, bytesMax)
    t.after(() => trail.close())
    return trail
  }
  const linesOf = async (name = 'audit.jsonl') => {
    const text = await readFile(join(path, name), 'utf8')
    return text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Line)
  }
  return { path, files, log, open, linesOf }
}

const add = (trail: AuditTrail, n: number) => trail.record('configuration_added', caller, { n })

describe('the audit trail', () => {
  it('keeps who, what and when in one private file, one line for each event, in order', async (t) => {
    const { path, open, linesOf } = await setUp(t)
    const trail = await open()
    const before = Date.now()
    await Promise.all([
      add(trail, 1),
      trail.record('user_added', { command: 'user add', by: 'root' }, { account: 'x' }),
      trail.record('stopped', undefined),
    ])
    const [first, second, third] = (await linesOf()) as unknown as Record<string, unknown>[]
    const { time, ...rest } = first ?? {}
    assert.ok(Date.parse(String(time)) >= before - 1 && String(time).endsWith('Z'))
    assert.deepEqual(rest, {
      event: 'configuration_added',
      address: '192.0.2.1',
      kind: 'user',
      by: 'admin',
      request_id: 'r1',
      n: 1,
    })
    assert.deepEqual(
      { ...second, time },
      { time, event: 'user_added', command: 'user add', by: 'root', account: 'x' },
    )
    assert.deepEqual({ ...third, time }, { time, event: 'stopped' })
    assert.equal((await stat(join(path, 'audit.jsonl'))).mode & 0o7777, 0o600)
  })

  it('puts text that callers choose last, escaped, so that an event stays on one line', async (t) => {
    const { path, open } = await setUp(t)
    const name = '"}\n{"event":"logged_in\u2028\u202e\u0085'
    await (await open()).record('login_failed', caller, { account: name })
    const text = await readFile(join(path, 'audit.jsonl'), 'utf8')
    assert.match(text, /^\{"time":"[^"]+","event":"login_failed","address":"192\.0\.2\.1",[\x20-\x7e]+\n$/)
    assert.equal(JSON.parse(text).account, name)
  })

  it('writes a line before record resolves, and batches lines that arrive during a write', async (t) => {
    const { files, open, linesOf } = await setUp(t)
    const trail = await open()
    const held = holdUp(files, 'write', 'audit.jsonl')
    const first = add(trail, 1)
    await held.begun
    const later = [2, 3, 4].map((n) => add(trail, n))
    files.calls.length = 0
    held.release()
    await Promise.all([first, ...later])
    assert.deepEqual(
      (await linesOf()).map(({ n }) => n),
      [1, 2, 3, 4],
    )
    assert.equal(files.calls.filter((call) => call.startsWith('write')).length, 1)
  })

  it('writes the lines of many changes at once, in their order, and all before it is closed', async (t) => {
    const { files, open, linesOf } = await setUp(t)
    const trail = await open()
    const tick = holdTimers(t)
    const now = performance.now()
    t.mock.method(performance, 'now', () => now)
    const changes = 200
    for (let revision = 1; revision <= changes; revision += 1) {
      const change = { remove: 'a', authorship: { actor: someone, time: '' } }
      trail.list('store', change, revision, new Configuration(1, draft('a')))
      await nextTurn()
    }
    tick(AUDIT_WRITE_PAUSE_MS)
    await trail.close()
    assert.deepEqual(
      (await linesOf()).map(({ tag }) => tag),
      Array.from({ length: changes }, (_, i) => `store-${i + 1}`),
    )
    // The first change waits for none before it; the others, for the pause after it.
    assert.equal(files.calls.filter((call) => call.startsWith('write')).length, 2)
  })

  it('keeps the lines of changes for a disk that is full, and loses only others', async (t) => {
    const { files, log, open, linesOf } = await setUp(t)
    const trail = await open()
    failOn(files, 'write', 'audit', 'ENOSPC', 3)
    const change = { remove: 'a', authorship: { actor: someone, time: '' } }
    trail.list('store', change, 1, new Configuration(1, draft('a')))
    await assert.rejects(trail.sync(), { code: 'ENOSPC' })
    await add(trail, 2)
    await assert.rejects(trail.sync(), { code: 'ENOSPC' })
    await trail.sync()
    assert.deepEqual(log.events, ['audit_not_written'])
    assert.deepEqual(
      (await linesOf()).map(({ event, count }) => [event, count]),
      [
        ['lines_lost', 1],
        ['configuration_deleted', undefined],
      ],
    )
  })

  it('does not call itself complete at a start if the disk could not read it', async (t) => {
    const { files, open, linesOf } = await setUp(t)
    const trail = await open()
    failOn(files, 'open', 'audit', 'EIO', 5)
    await trail.listed()
    files.before = () => {}
    assert.equal(await trail.begin('store-1', { pid: 1 }), false)
    assert.deepEqual(
      (await linesOf()).map(({ tag }) => tag),
      [undefined],
    )
    assert.equal(await (await open()).begin('store-1', { pid: 1 }), true)
    assert.equal((await linesOf()).at(-1)?.tag, 'store-1')
  })

  it('is synced after the loss of a line that no change needs', async (t) => {
    const { files, open } = await setUp(t)
    const trail = await open()
    failOn(files, 'write', 'audit', 'ENOSPC')
    await add(trail, 1)
    await trail.sync()
  })

  it('tries again to write the lines of changes, without another event', async (t) => {
    const { files, open, linesOf } = await setUp(t)
    const trail = await open()
    skipPauses(t, AUDIT_RETRY_MS)
    failOn(files, 'write', 'audit', 'ENOSPC')
    const change = { remove: 'a', authorship: { actor: someone, time: '' } }
    trail.list('store', change, 1, new Configuration(1, draft('a')))
    await eventually('the line is written', async () => (await linesOf().catch(() => [])).length === 1)
  })

  it('is not synced once the line of a change was lost, so that the journal keeps the change', async (t) => {
    const { files, open } = await setUp(t)
    const trail = await open()
    const held = holdUp(files, 'write', 'audit.jsonl')
    const first = add(trail, 1)
    await held.begun
    const change = { remove: 'a', authorship: { actor: someone, time: '' } }
    for (let revision = 1; revision <= AUDIT_WAITING_LINES_MAX + 1; revision += 1)
      trail.list('store', change, revision, new Configuration(1, draft('a')))
    held.release()
    await first
    await assert.rejects(trail.sync(), /the next start completes them from the journal/)
  })

  it('appends to an existing file, also after a torn line', async (t) => {
    const { path, open } = await setUp(t)
    await add(await open(), 1)
    await appendFile(join(path, 'audit.jsonl'), '{"time":"20')
    await add(await open(), 2)
    const lines = (await readFile(join(path, 'audit.jsonl'), 'utf8')).split('\n')
    assert.equal(lines.length, 4)
    assert.equal(lines[1], '{"time":"20')
    assert.equal(JSON.parse(lines[2] ?? '').n, 2)
  })

  it('keeps all lines that several processes append at the same time', async (t) => {
    const { open, linesOf } = await setUp(t)
    const trails = await Promise.all([open(), open(), open()])
    await Promise.all(Array.from({ length: 300 }, (_, n) => add(trails[n % 3] ?? assert.fail(), n)))
    const found = (await linesOf()).map(({ n }) => n ?? -1)
    assert.deepEqual(
      found.sort((a, b) => a - b),
      Array.from({ length: 300 }, (_, n) => n),
    )
  })

  it('never grows beyond five files, and loses the oldest only', async (t) => {
    const bytesMax = 1000
    const { path, open, linesOf } = await setUp(t, bytesMax)
    const trail = await open()
    for (let n = 0; n < 100; n++) await add(trail, n)
    const names = ['audit.4.jsonl', 'audit.3.jsonl', 'audit.2.jsonl', 'audit.1.jsonl', 'audit.jsonl']
    assert.deepEqual((await readdir(path)).sort(), [...names].sort())
    const kept: (number | undefined)[] = []
    for (const name of names) {
      assert.ok((await stat(join(path, name))).size <= bytesMax)
      kept.push(...(await linesOf(name)).map(({ n }) => n))
    }
    assert.ok(kept.length > 20)
    assert.deepEqual(
      kept,
      Array.from({ length: kept.length }, (_, i) => 100 - kept.length + i),
    )
  })

  it('keeps a line whole that is larger than a file may be', async (t) => {
    const { open, linesOf } = await setUp(t, 10)
    const trail = await open()
    await add(trail, 1)
    await add(trail, 2)
    assert.deepEqual(
      (await linesOf()).map(({ n }) => n),
      [2],
    )
    assert.deepEqual(
      (await linesOf('audit.1.jsonl')).map(({ n }) => n),
      [1],
    )
  })

  for (const [operation, code] of [
    ['write', 'ENOSPC'],
    ['write', 'EIO'],
    ['open', 'EMFILE'],
  ] as const) {
    it(`counts lines that it cannot write (${operation} ${code}), reports that once, and delays nobody`, async (t) => {
      const { files, log, open, linesOf } = await setUp(t, operation === 'write' ? undefined : 150)
      const trail = await open()
      await add(trail, 1)
      failOn(files, operation, 'audit', code, 2)
      await add(trail, 2)
      await add(trail, 3)
      await add(trail, 4)
      assert.deepEqual(
        log.events.filter((event) => event === 'audit_not_written'),
        ['audit_not_written'],
      )
      const lines = await linesOf()
      const gap = lines.findIndex(({ event }) => event === 'lines_lost')
      assert.equal(lines[gap]?.count, 2)
      assert.equal(lines[gap + 1]?.n, 4)
    })
  }

  it('goes on in the same file when the system does not rename it, and reports that', async (t) => {
    const { files, log, open, linesOf } = await setUp(t, 150)
    const trail = await open()
    await add(trail, 1)
    failOn(files, 'rename', 'audit', 'EIO', 1)
    await add(trail, 2)
    assert.deepEqual(log.events, ['audit_not_rotated'])
    assert.deepEqual(
      (await linesOf()).map(({ n }) => n),
      [1, 2],
    )
    await add(trail, 3)
    assert.deepEqual(
      (await linesOf('audit.1.jsonl')).map(({ n }) => n),
      [1, 2],
    )
  })

  it('ends a torn line that a full disk left before it goes on', async (t) => {
    const { path, files, open } = await setUp(t)
    const trail = await open()
    files.writeBytesMax = 20
    let writes = 0
    files.before = (operation) => {
      if (operation === 'write' && ++writes === 2) throw systemError('ENOSPC')
    }
    await add(trail, 1)
    files.writeBytesMax = Number.POSITIVE_INFINITY
    await add(trail, 2)
    const [half = '', gap = '', line = '', end] = (await readFile(join(path, 'audit.jsonl'), 'utf8')).split(
      '\n',
    )
    assert.equal(half.length, 20)
    assert.deepEqual([JSON.parse(gap).count, JSON.parse(line).n, end], [1, 2, ''])
  })

  it('has no file before the first line, and recovers from a disk that was full then', async (t) => {
    const { files, path, open, linesOf } = await setUp(t)
    const trail = await open()
    assert.deepEqual(await readdir(path), [])
    failOn(files, 'open', 'audit', 'ENOSPC', 1)
    await add(trail, 1)
    await add(trail, 2)
    assert.deepEqual(
      (await linesOf()).map(({ event }) => event),
      ['lines_lost', 'configuration_added'],
    )
  })

  it('is refused when this account may not write to it', async (t) => {
    const { files, open } = await setUp(t)
    await add(await open(), 1)
    failOn(files, 'open', 'audit', 'EACCES', 1)
    await assert.rejects(open(), { code: 'EACCES' })
  })

  for (const [what, lead] of [
    ['a symbolic link', symlink],
    ['a hard link', link],
  ] as const) {
    it(`never writes to the file that ${what} leads to`, async (t) => {
      const { path, log, open } = await setUp(t)
      const elsewhere = join(await temporaryFolder(t), 'other')
      await writeFile(elsewhere, '')
      await lead(elsewhere, join(path, 'audit.jsonl'))
      await assert.rejects(open(), { code: 'folder_refused' })
      assert.equal(await readFile(elsewhere, 'utf8'), '')
      assert.deepEqual(log.lines, [])
    })
  }

  it('counts the lines that it drops while a hanging disk fills the queue', async (t) => {
    const { files, open, linesOf } = await setUp(t)
    const trail = await open()
    await add(trail, 0)
    const held = holdUp(files, 'write', 'audit.jsonl')
    const first = add(trail, 1)
    await held.begun
    const later = Array.from({ length: AUDIT_WAITING_LINES_MAX + 5 }, (_, i) => add(trail, i + 2))
    await Promise.all(later.slice(-5))
    held.release()
    await Promise.all([first, ...later])
    await trail.close()
    const lines = await linesOf()
    assert.equal(lines.length, AUDIT_WAITING_LINES_MAX + 3)
    assert.equal(lines.find(({ event }) => event === 'lines_lost')?.count, 5)
  })

  it('accepts no line once it is closed', async (t) => {
    const { open, linesOf } = await setUp(t)
    const trail = await open()
    await add(trail, 1)
    await trail.close()
    await add(trail, 2)
    assert.equal((await linesOf()).length, 1)
  })

  it('writes the final count of lost lines when it is closed', async (t) => {
    const { files, open, linesOf } = await setUp(t)
    const trail = await open()
    await add(trail, 1)
    failOn(files, 'write', 'audit', 'ENOSPC', 1)
    await add(trail, 2)
    await trail.close()
    assert.deepEqual(
      (await linesOf()).map(({ count }) => count),
      [undefined, 1],
    )
  })
})
