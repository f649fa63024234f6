import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as turnOfEventLoop } from 'node:timers/promises'
import { EVENTS_PAUSE_MS } from '../../src/limits.ts'
import { FilteredPolls } from '../../src/resources/filtered-polls.ts'
import { WaitingCalls } from '../../src/resources/waiting-calls.ts'
import { type LongWork, runAtOnce } from '../../src/scheduler.ts'
import { Configuration } from '../../src/store/configuration.ts'
import { RecentChanges } from '../../src/store/recent-changes.ts'
import type { Filter } from '../../src/store/record-filter.ts'
import { createMemoryLog } from '../support/memory-log.ts'
import { draft } from '../support/store.ts'

describe('polls with filters', () => {
  it('are not woken by changes of a large import that their callers know already', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const scheduler = { run: async <Result>(_: string, work: LongWork<Result>) => runAtOnce(work) }
    const recent = new RecentChanges()
    const polls = new FilteredPolls(recent, new WaitingCalls(scheduler, createMemoryLog()))
    const tell = async (revision: number) => {
      recent.add({ add: new Configuration(revision, draft(`a${revision}`)) }, revision, undefined)
      polls.checkSoon()
      t.mock.timers.tick(1_000)
      await turnOfEventLoop()
    }
    let seen = 0
    polls.add({ filter: { prefix: 'a' }, after: 2, see: () => (seen += 1) })
    await tell(1)
    await tell(2)
    assert.equal(seen, 0)
    await tell(3)
    assert.equal(seen, 1)
  })

  it('are looked at in steps of few changes', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    let steps = 0
    const scheduler = {
      run: async <Result>(_: string, work: LongWork<Result>) => {
        for (steps = 1; ; steps++) {
          const { done, value } = work.next()
          if (done) return value
        }
      },
    }
    const recent = new RecentChanges()
    const polls = new FilteredPolls(recent, new WaitingCalls(scheduler, createMemoryLog()))
    for (let revision = 1; revision <= 60; revision++)
      recent.add({ add: new Configuration(revision, draft(`a${revision}`)) }, revision, undefined)
    polls.add({ filter: { prefix: 'b' }, after: 0, see: () => assert.fail('it sees nothing') })
    t.mock.timers.tick(EVENTS_PAUSE_MS)
    await turnOfEventLoop()
    assert.ok(steps > 60 / 16, `${steps} steps`)
  })

  it('are checked again after a check that failed, which is logged', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    let runs = 0
    const scheduler = {
      run: async <Result>(_: string, work: LongWork<Result>) => {
        if (++runs === 1) throw new Error('a bug')
        return runAtOnce(work)
      },
    }
    const [recent, log] = [new RecentChanges(), createMemoryLog()]
    const polls = new FilteredPolls(recent, new WaitingCalls(scheduler, log))
    let seen = 0
    polls.add({ filter: { prefix: 'a' }, after: 0, see: () => (seen += 1) })
    for (const revision of [1, 2]) {
      recent.add({ add: new Configuration(revision, draft(`a${revision}`)) }, revision, undefined)
      polls.checkSoon()
      t.mock.timers.tick(EVENTS_PAUSE_MS)
      await turnOfEventLoop()
      assert.deepEqual([seen, log.events], [revision - 1, ['waiting_request_failed']])
    }
  })

  it('have their filters made into text once, not at each check', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const scheduler = { run: async <Result>(_: string, work: LongWork<Result>) => runAtOnce(work) }
    const recent = new RecentChanges()
    const polls = new FilteredPolls(recent, new WaitingCalls(scheduler, createMemoryLog()))
    const toJSON = t.mock.fn(() => 'the filter')
    polls.add({ filter: { prefix: 'b', toJSON } as Filter, after: 0, see: () => assert.fail('it is seen') })
    for (const revision of [1, 2, 3]) {
      recent.add({ add: new Configuration(revision, draft(`a${revision}`)) }, revision, undefined)
      polls.checkSoon()
      t.mock.timers.tick(EVENTS_PAUSE_MS)
      await turnOfEventLoop()
    }
    assert.equal(toJSON.mock.callCount(), 1)
  })
})
