import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { setImmediate as turnOfEventLoop } from 'node:timers/promises'
import { IMPORT_AUDITED_RECORDS_MAX } from '../../src/limits.ts'
import {
  HISTORIES_AT_ONCE_MAX,
  HISTORIES_WAITING_MAX,
  historyHandlers,
  LONG_HISTORIES_AT_ONCE_MAX,
} from '../../src/resources/history.ts'
import { Scheduler } from '../../src/scheduler.ts'
import { REFUSAL_PAUSE_MS } from '../../src/server/request-order.ts'
import type { ConfigurationStore } from '../../src/store/configuration-store.ts'
import { trailIn } from '../audit/trail.ts'
import { pathOf } from '../support/api.ts'
import { runCommand } from '../support/command.ts'
import { createFailingFiles, holdUp, systemError } from '../support/failing-files.ts'
import { loadStore } from '../support/loaded-store.ts'
import { requestOf } from '../support/message.ts'
import { start, type TestService, usedFolder } from '../support/service.ts'
import { skipPauses } from '../support/skipped-pauses.ts'
import { draft } from '../support/store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

interface Entry {
  readonly time: string
  readonly event: string
  readonly changed?: Record<string, { before: unknown; after: unknown }>
  readonly record?: { readonly id: number; readonly name: string }
}

interface History {
  readonly history: readonly Entry[]
  readonly since: string
}

type Histories = Parameters<typeof historyHandlers>[1]

const nobody = () => assert.fail('nobody asks for it')
const unasked = { readAll: nobody, readSeen: nobody }

/** Calls with the token of `script`. */
async function callerOf(service: TestService) {
  const headers = { Authorization: await service.bearer() }
  const send = (method: string, path: string, body?: unknown, more: Record<string, string> = {}) =>
    service.call(path, {
      method,
      headers: { ...headers, ...more },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
  const ask = (name: string, query = '', more: Record<string, string> = {}) =>
    send('GET', `/v1/history/${encodeURIComponent(name)}${query}`, undefined, more)
  const read = async (name: string, query = ''): Promise<History> => {
    const answer = await ask(name, query)
    assert.equal(answer.status, 200, name)
    return (await answer.json()) as History
  }
  return {
    send,
    ask,
    read,
    add: (name: string) => send('POST', '/configurations/', draft(name)),
    modify: (name: string, patch: unknown) => send('PATCH', pathOf(name), patch),
    remove: (name: string) => send('DELETE', pathOf(name)),
  }
}

const eventsOf = ({ history }: History) => history.map(({ event }) => event.replace('configuration_', ''))

describe('GET /v1/history/NAME', () => {
  it('lists the changes of a record at once, newest first, across renames, without addresses', async (t) => {
    const service = await start(t)
    const { add, modify, read } = await callerOf(service)
    await add('a')
    await add('other')
    await modify('a', { port: 23, labels: { env: 'test' } })
    await modify('a', { name: 'b' })
    await modify('b', { labels: { env: null } })
    const { history, since } = await read('b')
    const times = history.map(({ time }) => time)
    assert.deepEqual(times, times.toSorted().reverse())
    const by = { by: 'script', kind: 'client', id: 1 }
    assert.deepEqual(
      history.map(({ time, ...rest }) => rest),
      [
        {
          event: 'configuration_modified',
          ...by,
          name: 'b',
          changed: { 'labels.env': { before: 'test', after: null } },
        },
        { event: 'configuration_modified', ...by, name: 'a', changed: { name: { before: 'a', after: 'b' } } },
        {
          event: 'configuration_modified',
          ...by,
          name: 'a',
          changed: { port: { before: 22, after: 23 }, 'labels.env': { before: null, after: 'test' } },
        },
        { event: 'configuration_added', ...by, name: 'a', record: { id: 1, ...draft('a') } },
      ],
    )
    assert.equal(since, history.at(-1)?.time)
  })

  it('lists a deleted record, too: by name the present holder, else the last one', async (t) => {
    const { add, modify, remove, read, ask } = await callerOf(await start(t))
    await add('a')
    await remove('a')
    assert.deepEqual(eventsOf(await read('a')), ['deleted', 'added'])
    await add('a')
    assert.deepEqual(eventsOf(await read('a')), ['added'])
    await modify('a', { name: 'b' })
    await modify('b', { port: 1 })
    assert.deepEqual(eventsOf(await read('a')), ['modified', 'modified', 'added'], 'renamed')
    await add('a')
    assert.deepEqual((await read('a')).history[0]?.record?.id, 3)
    const answer = await ask('c')
    assert.equal(answer.status, 404)
    assert.equal(((await answer.json()) as { type: string }).type, 'urn:connbook:problem:unknown_name')
  })

  it('finds names that need escapes, and takes no text in a record for anything else', async (t) => {
    const { add, modify, remove, read } = await callerOf(await start(t))
    for (const name of ['"', '\\', 'a/b %?', 'é\u200f😀', '__proto__', '"id":2,', '","tag":"']) {
      await add(name)
      await modify(name, { labels: { id: '"id":1,', tag: '"tag":"x-1"', name } })
      await remove(name)
      assert.deepEqual(eventsOf(await read(name)), ['deleted', 'modified', 'added'], name)
    }
  })

  it('lists at most `limit` changes, and is complete from the last of them on', async (t) => {
    const { add, modify, read, ask } = await callerOf(await start(t))
    await add('a')
    for (let port = 1; port <= 25; port++) await modify('a', { port })
    assert.equal((await read('a')).history.length, 20)
    const { history, since } = await read('a', '?limit=3')
    assert.deepEqual(
      history.map(({ changed }) => changed?.port?.after),
      [25, 24, 23],
    )
    assert.equal(since, history[2]?.time)
    assert.equal((await read('a', '?limit=100')).history.length, 26)
    for (const query of [
      'limit=0',
      'limit=101',
      'limit=+1',
      'limit=',
      'limit=1&limit=1',
      'page=1',
      'limit=%zz',
    ])
      assert.equal((await ask('a', `?${query}`)).status, 400, query)
  })

  it('has an ETag that changes with the history alone', async (t) => {
    const { add, modify, ask } = await callerOf(await start(t))
    await add('a')
    const first = await ask('a')
    const tag = first.headers.get('etag') ?? ''
    assert.equal(first.headers.get('cache-control'), 'no-cache, private')
    await add('b')
    const same = await ask('a', '', { 'If-None-Match': tag })
    assert.deepEqual([same.status, same.headers.get('etag'), await same.text()], [304, tag, ''])
    await modify('a', { port: 1 })
    assert.equal((await ask('a', '', { 'If-None-Match': tag })).status, 200)
    assert.equal((await ask('a', '', { 'If-Match': tag })).status, 412)
  })

  it('takes GET, HEAD and OPTIONS from whoever may read, below the base path', async (t) => {
    const { add, send } = await callerOf(await start(t, { flags: ['--base-path', '/x'] }))
    await add('a')
    const head = await send('HEAD', '/v1/history/a')
    assert.deepEqual([head.status, await head.text()], [200, ''])
    assert.equal((await send('OPTIONS', '/v1/history/a')).status, 204)
    assert.equal((await send('POST', '/v1/history/a', {})).status, 405)
  })

  it('is the same after a restart', async (t) => {
    const folder = await usedFolder(t)
    const first = await start(t, { folder })
    const before = await callerOf(first)
    await before.add('a')
    await before.modify('a', { port: 1 })
    await before.add('gone')
    await before.remove('gone')
    const [a, gone] = [await before.read('a'), await before.read('gone')]
    await first.stop()
    const { read } = await callerOf(await start(t, { folder }))
    assert.deepEqual([await read('a'), await read('gone')], [a, gone])
  })

  it('starts again with a restore, which drops what came after the backup', async (t) => {
    const folder = await usedFolder(t)
    const backup = join(await temporaryFolder(t), 'backup.json')
    const first = await start(t, { folder })
    const before = await callerOf(first)
    await before.add('a')
    await first.stop()
    assert.equal((await runCommand(['backup', backup, '--data', folder])).code, 0)
    const second = await start(t, { folder })
    const abandoned = await callerOf(second)
    await abandoned.modify('a', { port: 1 })
    await abandoned.add('never')
    await second.stop()
    assert.equal((await runCommand(['restore', backup, '--data', folder])).code, 0)
    const restoredAt = (await trailIn(folder)).at(-1)?.time as string
    const { read, ask, modify } = await callerOf(await start(t, { folder }))
    const { history, since } = await read('a')
    assert.deepEqual(history, [])
    assert.ok(since >= restoredAt, `${since} ${restoredAt}`)
    assert.equal((await ask('never')).status, 404)
    await modify('a', { port: 2 })
    const later = await read('a')
    assert.deepEqual([eventsOf(later), later.since], [['modified'], since])
  })

  it('is complete only after an import that is too large to be listed', async (t) => {
    const { add, modify, send, read, ask } = await callerOf(await start(t))
    await add('a')
    const names = Array.from({ length: IMPORT_AUDITED_RECORDS_MAX }, (_, i) => `n${i}`)
    const records = ['a', ...names].map((name) => JSON.stringify(draft(name, { port: 9 })))
    const imported = await send('POST', '/v1/import?format=jsonl', records.join('\n'))
    assert.equal(imported.status, 200)
    const unlisted = await read('n1')
    assert.deepEqual(unlisted.history, [])
    const known = await read('a')
    assert.deepEqual(eventsOf(known), ['added'])
    assert.ok(known.since >= (known.history[0]?.time ?? ''))
    assert.equal(unlisted.since, known.since)
    await modify('a', { port: 10 })
    const after = await read('a')
    assert.deepEqual([eventsOf(after), after.since], [['modified', 'added'], known.since])
    await add('later')
    const later = await read('later')
    assert.equal(later.since, later.history[0]?.time)
    assert.equal((await ask('never')).status, 404)
  })

  it('lists each change of a smaller import', async (t) => {
    const { add, send, read } = await callerOf(await start(t))
    await add('a')
    const text = ['a', 'b'].map((name) => JSON.stringify(draft(name, { port: 9 }))).join('\n')
    await send('POST', '/v1/import?format=jsonl', text)
    assert.deepEqual(eventsOf(await read('a')), ['modified', 'added'])
    assert.deepEqual(eventsOf(await read('b')), ['added'])
  })

  it('is complete from later on when files or lines of the trail are missing', async (t) => {
    const folder = await usedFolder(t)
    const path = join(folder, 'audit.jsonl')
    const service = await start(t, { folder })
    const { add, modify, read } = await callerOf(service)
    await add('a')
    await add('b')
    await modify('a', { port: 1 })
    await modify('a', { port: 2 })
    const whole = await read('a')
    assert.equal(whole.since, whole.history.at(-1)?.time)
    const text = await readFile(path, 'utf8')
    const lines = text.split('\n')
    const at = lines.findIndex((line) => line.includes('"after":1}'))
    const line = lines[at] ?? ''

    for (const damaged of [line.slice(0, -9), line.replace('"id"', '\0\0\0\0'), 'x', '']) {
      await writeFile(path, lines.with(at, damaged).join('\n'))
      const { history, since } = await read('a')
      assert.deepEqual([history.length, since], [2, whole.history[0]?.time], damaged)
    }
    // Half a line, and the whole one after others.
    await writeFile(path, [...lines.with(at, line.slice(0, 40)).slice(0, -1), line, ''].join('\n'))
    assert.deepEqual(await read('a'), whole)
    await writeFile(path, text)
    await rename(path, join(folder, 'audit.1.jsonl'))
    assert.deepEqual(await read('a'), whole, 'rotated')
    await rename(join(folder, 'audit.1.jsonl'), join(folder, 'audit.4.jsonl'))
    assert.deepEqual(await read('a'), whole, 'with files missing')
    await rm(join(folder, 'audit.4.jsonl'))
    const none = await read('a')
    assert.deepEqual(none.history, [])
    assert.ok(none.since >= (whole.history[0]?.time ?? ''))
  })

  it('is 503 with a code and a log line when the disk cannot read, and works again', async (t) => {
    skipPauses(t, REFUSAL_PAUSE_MS)
    const files = createFailingFiles()
    const service = await start(t, { folder: await usedFolder(t), files })
    const { add, ask, read } = await callerOf(service)
    await add('a')
    files.before = (operation, path) => {
      if (operation === 'read' && path.endsWith('audit.jsonl')) throw systemError('EIO', path)
    }
    const answer = await ask('a')
    assert.equal(answer.status, 503)
    assert.ok(Number(answer.headers.get('retry-after')) > 0)
    const problem = (await answer.json()) as { type: string; detail: string }
    assert.equal(problem.type, 'urn:connbook:problem:trail_unavailable')
    assert.doesNotMatch(problem.detail, /EIO|audit\.jsonl/)
    assert.equal(service.log.events.filter((event) => event === 'audit_not_read').length, 1)
    files.before = () => {}
    assert.deepEqual(eventsOf(await read('a')), ['added'])
  })

  it('is 503 while the trail lacks a change that it cannot write', async (t) => {
    skipPauses(t, REFUSAL_PAUSE_MS)
    const files = createFailingFiles()
    const service = await start(t, { folder: await usedFolder(t), files })
    const { add, ask, read } = await callerOf(service)
    files.before = (operation, path) => {
      if (operation === 'write' && path.endsWith('audit.jsonl')) throw systemError('ENOSPC', path)
    }
    await add('a')
    assert.equal((await ask('a')).status, 503)
    files.before = () => {}
    assert.deepEqual(eventsOf(await read('a')), ['added'])
  })

  it('stops when its client goes, and gives its place to the next', async () => {
    const scheduler = new Scheduler()
    const gate = Promise.withResolvers<void>()
    let begun = 0
    let ended = 0
    const histories: Histories = {
      ...unasked,
      findLastHolder: async () => undefined,
      async read(_asked, _id, _limit, turn) {
        begun += 1
        await gate.promise
        await turn(() => {})
        ended += 1
        return { history: [], since: '2026-01-01T00:00:00.000Z' }
      },
    }
    const { read } = historyHandlers(loadStore([draft('a')], scheduler), histories, scheduler)
    const controller = new AbortController()
    const request = { ...requestOf({}), signal: controller.signal }
    const gone = Array.from({ length: HISTORIES_AT_ONCE_MAX + 3 }, () => read(request, 'a'))
    const ends = Promise.allSettled(gone)
    const next = read(requestOf({}), 'a')
    await scheduler.once('test', () => {})
    assert.equal(begun, HISTORIES_AT_ONCE_MAX)
    controller.abort(new Error('gone'))
    gate.resolve()
    for (const end of await ends) assert.equal(end.status, 'rejected')
    assert.equal((await next).status, 200)
    assert.deepEqual([begun, ended], [HISTORIES_AT_ONCE_MAX + 1, 1])
  })

  it('does not wait for histories of all records, of which callers have one each in turn', async () => {
    const scheduler = new Scheduler()
    const begun: string[] = []
    const ends: (() => void)[] = []
    const histories: Histories = {
      ...unasked,
      async readAll() {
        const { promise, resolve } = Promise.withResolvers<void>()
        begun.push('all')
        ends.push(resolve)
        await promise
        return { entries: [], since: '2026-01-01T00:00:00.000Z', next: undefined }
      },
      findLastHolder: async () => undefined,
      read: async () => ({ history: [], since: '2026-01-01T00:00:00.000Z' }),
    }
    const handlers = historyHandlers(loadStore([draft('a')], scheduler), histories, scheduler)
    const requestFrom = (address: string) => ({ ...requestOf({}, '', 'name=nothing'), address })
    const ended: string[] = []
    const list = (address: string) =>
      handlers.list(requestFrom(address)).then(() => {
        ended.push(address)
      })
    const all = [list('192.0.2.1'), list('192.0.2.1'), list('192.0.2.1'), list('192.0.2.2')]
    await turnOfEventLoop()
    assert.equal(begun.length, LONG_HISTORIES_AT_ONCE_MAX)
    assert.equal((await handlers.read({ ...requestOf({}), address: '192.0.2.2' }, 'a')).status, 200)
    while (ended.length < all.length) {
      ends.shift()?.()
      await turnOfEventLoop()
    }
    assert.equal(ended[1], '192.0.2.2', 'it waits for one of the other caller')
    await Promise.all(all)
  })

  it('takes no turn and reads nothing until a large import was reported', async (t) => {
    const listeners = new Set<() => void>()
    const store = {
      id: 'told0000-0000',
      revision: 3,
      recent: { revision: 1, changedAt: 3 },
      find: () => ({ id: 1 }),
      onDurable(listener: () => void) {
        listeners.add(listener)
        return () => void listeners.delete(listener)
      },
    }
    const tell = async (revision: number) => {
      store.recent.revision = revision
      for (const listener of listeners) listener()
      await turnOfEventLoop()
    }
    const once = t.mock.fn(new Scheduler().once)
    const read = t.mock.fn(async () => ({ history: [], since: '2026-01-01T00:00:00.000Z' }))
    const histories = { ...unasked, findLastHolder: async () => undefined, read }
    const handlers = historyHandlers(store as unknown as ConfigurationStore, histories, { once })
    const answers = [handlers.read(requestOf({}), 'a'), handlers.read(requestOf({}), 'a')]
    await turnOfEventLoop()
    assert.equal(listeners.size, 2)
    await tell(2)
    assert.deepEqual([read.mock.callCount(), once.mock.callCount(), listeners.size], [0, 0, 2])
    await tell(3)
    for (const answer of answers) assert.equal((await answer).status, 200)
    assert.deepEqual([read.mock.callCount(), listeners.size], [2, 0])
  })

  it('answers others while many wait, and refuses one too many', async (t) => {
    const files = createFailingFiles()
    const service = await start(t, { folder: await usedFolder(t), files })
    const { add, ask, read } = await callerOf(service)
    await add('a')
    const held = holdUp(files, 'read', 'audit.jsonl')
    const first = ask('a')
    await held.begun
    assert.equal((await service.call('/healthz')).status, 200)
    held.release()
    assert.equal((await first).status, 200)
    assert.deepEqual(eventsOf(await read('a')), ['added'])

    const scheduler = new Scheduler()
    const never: Histories = {
      ...unasked,
      findLastHolder: async () => undefined,
      read: () => new Promise(() => {}),
    }
    const handlers = historyHandlers(loadStore([draft('a')], scheduler), never, scheduler)
    for (let i = 0; i < HISTORIES_AT_ONCE_MAX + HISTORIES_WAITING_MAX; i++)
      void handlers.read(requestOf({}), 'a')
    await assert.rejects(handlers.read(requestOf({}), 'a'), { code: 'overloaded' })
  })
})
