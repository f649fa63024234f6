import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { FilteredPolls } from '../../src/resources/filtered-polls.ts'
import { WaitingCalls } from '../../src/resources/waiting-calls.ts'
import { type LongWork, runAtOnce } from '../../src/scheduler.ts'
import { Configuration } from '../../src/store/configuration.ts'
import { RecentChanges } from '../../src/store/recent-changes.ts'
import { createMemoryLog } from '../support/memory-log.ts'
import { draft } from '../support/store.ts'

describe('polls with filters', () => {
  it('are not woken by changes of a large import that their callers know before they are told', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const scheduler = { run: async <Result>(_: string, work: LongWork<Result>) => runAtOnce(work) }
    const recent = new RecentChanges()
    const polls = new FilteredPolls(recent, scheduler, new WaitingCalls(scheduler, createMemoryLog()))
    const tell = async (revision: number) => {
      recent.add({ add: new Configuration(revision, draft(`a${revision}`)) }, revision, undefined)
      polls.lookSoon()
      t.mock.timers.tick(1_000)
      await Promise.resolve()
      await Promise.resolve()
    }
    let seen = 0
    polls.add({ filter: { prefix: 'a' }, after: 2, see: () => (seen += 1) })
    await tell(1)
    await tell(2)
    assert.equal(seen, 0)
    await tell(3)
    assert.equal(seen, 1)
  })
})
