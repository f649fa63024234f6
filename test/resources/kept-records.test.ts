import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { GroupMembers } from '../../src/exchange/ansible-inventory.ts'
import { UNSTREAMED_BYTES_MAX } from '../../src/limits.ts'
import { configurationHandlers } from '../../src/resources/configurations.ts'
import { exportHandlers, SUMMARY_KEPT_BYTES_MAX } from '../../src/resources/export.ts'
import { Scheduler } from '../../src/scheduler.ts'
import { requestOf } from '../support/message.ts'
import { draft, openStore, someone } from '../support/store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

describe('a long answer', () => {
  it('reports which records it keeps in memory', async (t) => {
    const { store } = await openStore(t, await temporaryFolder(t))
    const name = (i: number) => `${i}`.padEnd(250, '-')
    const count = Math.ceil(UNSTREAMED_BYTES_MAX / 250)
    await store.importAll(
      someone,
      Array.from({ length: count }, (_, i) => draft(name(i))),
      'merge',
    )
    await store.remove(someone, name(0))
    const { list } = configurationHandlers(store, '', new Scheduler())
    const whole = await list(requestOf({}))
    const found = await list(requestOf({}, '', 'q=-'))
    const exported = await exportHandlers(store, new Scheduler()).exportAll(requestOf({}, '', 'format=csv'))
    const kept = { revision: count + 1, records: count - 1, jsonBytes: store.jsonBytes }
    assert.deepEqual([whole.keeps, found.keeps, exported.keeps], [kept, kept, kept])
  })

  it('of an export with groups reports the memory of its notes, which all exports of a revision share', async (t) => {
    const { store } = await openStore(t, await temporaryFolder(t))
    const count = Math.ceil(SUMMARY_KEPT_BYTES_MAX / 12)
    const drafts = Array.from({ length: count }, (_, i) => draft(`a${i}`, { labels: { group: 'web' } }))
    await store.importAll(someone, drafts, 'merge')
    const begin = t.mock.method(GroupMembers.prototype, 'pieces')
    const { exportAll } = exportHandlers(store, new Scheduler())
    const ask = () => exportAll(requestOf({}, '', 'format=ansible'))
    const first = await ask()
    const [second, third] = await Promise.all([ask(), ask()])
    for (const { keeps } of [first, second, third]) assert.ok((keeps?.noted?.notedBytes ?? 0) >= 8 * count)
    for (const { body } of [first, second, third])
      assert.equal([...(body as Iterable<string>)].join('').match(/ \{\}\n/g)?.length, count)
    const tails = new Set(begin.mock.calls.map((call) => call.this))
    assert.equal(tails.size, 1)
    await store.remove(someone, 'a7')
    const next = await ask()
    assert.equal(Number(next.headers['X-Total-Count']), count - 1)
  })
})
