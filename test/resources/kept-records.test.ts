import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { UNSTREAMED_BYTES_MAX } from '../../src/limits.ts'
import { configurationHandlers } from '../../src/resources/configurations.ts'
import { exportHandlers } from '../../src/resources/export.ts'
import { Scheduler } from '../../src/scheduler.ts'
import { requestOf } from '../support/properties/request-of.ts'
import { draft, openStore, someone } from '../support/store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

describe('a long answer', () => {
  it('tells which records it keeps in memory', async (t) => {
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
})
