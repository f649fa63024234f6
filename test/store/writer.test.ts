import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  MemoryFullError,
  NotGrantedError,
  OvertakenError,
  StorageFullError,
  StorageUnavailableError,
  TooManyChangesError,
} from '../../src/errors.ts'
import { Scheduler } from '../../src/scheduler.ts'
import type { Asker } from '../../src/store/authorship.ts'
import type { ChangedRecords, StoredNow } from '../../src/store/bulk-change.ts'
import { namesOf } from '../../src/store/change.ts'
import type { ChangeLog, Commit, Committed } from '../../src/store/change-log.ts'
import { Configuration } from '../../src/store/configuration.ts'
import { ConfigurationIndex } from '../../src/store/configuration-index.ts'
import { ConfigurationStore } from '../../src/store/configuration-store.ts'
import { filteredChange, TooManyAffectedError } from '../../src/store/filtered-change.ts'
import { amountOf, recordMemory } from '../../src/store/record-room.ts'
import { Records } from '../../src/store/records.ts'
import { NameTakenError, StaleListError, UnknownNameError } from '../../src/store/refusals.ts'
import { BULK_TRIES_MAX, OVERTAKEN_MS_MAX, Writer } from '../../src/store/writer.ts'
import { draft, names, someone } from '../support/store.ts'

/** Somebody else's log: what becomes of each commit is the test's choice. */
class ScriptedLog implements ChangeLog {
  readonly store = 'scripted-0'
  readonly isWritable = true
  readonly metrics = []
  namesMax = 1_000
  allowsSequences = true
  /** The names of each commit. */
  readonly commits: string[][] = []
  catchUps = 0
  /** Called in place of a commit until it returns undefined; what it throws is what comes of it. */
  before: (commit: Commit) => void | Promise<void> = () => {}
  /** Called while the log catches up. */
  whileCatchingUp = () => {}
  preparing: Promise<void> | undefined
  readonly #records: Records

  constructor(records: Records) {
    this.#records = records
  }

  checkWritable() {}

  prepare() {
    return this.preparing
  }

  async commit(commit: Commit): Promise<Committed> {
    const { changes, isBulk } = commit
    this.commits.push(changes.flatMap(namesOf))
    await this.before(commit)
    const first = this.#records.index.revision + 1
    await (isBulk ? this.#records.applyTogether(changes, first) : this.#records.apply(changes, first))
    return { changes, revision: this.#records.index.revision }
  }

  async catchUp() {
    this.catchUps += 1
    this.whileCatchingUp()
  }

  async close() {}
}

function open(recordBytesMax?: number) {
  let nowMs = 0
  const scheduler = new Scheduler()
  const records = new Records(new ConfigurationIndex(), scheduler)
  const log = new ScriptedLog(records)
  const writer = new Writer(records, log, scheduler, recordBytesMax, () => nowMs)
  const store = new ConfigurationStore(records, log, writer)
  /** As a change by another process, which the log hears of. */
  const addElsewhere = (name: string) =>
    records.applyAt(records.index.revision + 1, [
      { add: new Configuration(records.index.lastId + 1, draft(name)) },
    ])
  const pass = (ms: number) => {
    nowMs += ms
  }
  return { store, log, records, addElsewhere, pass }
}

describe('changes of one commit', () => {
  it('are all that wait when its turn comes', async () => {
    const { store, log } = open()
    await Promise.all(['a', 'b', 'c'].map((name) => store.add(someone, draft(name))))
    assert.deepEqual(log.commits, [['a', 'b', 'c']])
  })

  it('are decided each for those before it', async () => {
    const { store, log } = open()
    const [, second, , fourth] = await Promise.allSettled([
      store.add(someone, draft('a')),
      store.add(someone, draft('a')),
      store.modify(someone, 'a', { name: 'b' }),
      store.add(someone, draft('a')),
    ])
    assert.ok(second.status === 'rejected' && second.reason instanceof NameTakenError)
    assert.ok(fourth.status === 'fulfilled' && fourth.value.id === 2)
    assert.deepEqual(log.commits, [['a', 'a', 'b', 'a']])
  })

  it('have no name twice, and no more names than the log allows', async () => {
    const { store, log } = open()
    log.allowsSequences = false
    log.namesMax = 2
    const changes = ['a', 'b', 'c'].map((name) => store.add(someone, draft(name)))
    await Promise.all([...changes, store.modify(someone, 'c', { port: 1 }), store.remove(someone, 'a')])
    assert.deepEqual(log.commits, [['a', 'b'], ['c', 'a'], ['c']])
  })

  it('come first next time if they had to wait for one of the same name', async () => {
    const { store, log } = open()
    log.allowsSequences = false
    log.namesMax = 2
    const change = store.add(someone, draft('a'))
    const sameName = store.modify(someone, 'a', { port: 1 })
    await Promise.all([change, sameName, ...['b', 'c', 'd'].map((name) => store.add(someone, draft(name)))])
    assert.deepEqual(log.commits, [['a', 'b'], ['a', 'c'], ['d']])
  })

  it('are refused together, and nothing behind them', async () => {
    const { store, log } = open()
    log.before = () => {
      log.before = () => {}
      throw new StorageFullError('no room')
    }
    const refused = Promise.allSettled([
      store.add(someone, draft('a')),
      store.add(someone, draft('a')),
      store.remove(someone, 'none'),
    ])
    await nextTurn()
    const behind = store.add(someone, draft('b'))
    for (const one of await refused)
      assert.ok(one.status === 'rejected' && one.reason instanceof StorageFullError)
    assert.equal((await behind).id > 1, true)
    assert.deepEqual(names(store), ['b'])
  })
})

describe('a right', () => {
  const asker = () => {
    const right = { isGranted: true }
    const checkAgain = () => {
      if (!right.isGranted) throw new Error('withdrawn')
    }
    return { right, asker: { signal: new AbortController().signal, checkAgain } satisfies Asker }
  }

  it('counts when the turn of a change comes, not when that arrived', async () => {
    const { store, log } = open()
    const { right, asker: caller } = asker()
    const { promise, resolve } = Promise.withResolvers<void>()
    log.preparing = promise
    const waiting = [
      store.add(someone, draft('a'), caller),
      store.importAll(someone, [draft('b')], 'merge', undefined, caller),
    ].map((one) => assert.rejects(one, { message: 'withdrawn' }))
    await nextTurn()
    right.isGranted = false
    resolve()
    await Promise.all(waiting)
    assert.deepEqual(log.commits, [])
  })

  it('counts once more when the change is written, and no other change fails with it', async () => {
    const { store, log } = open()
    const { right, asker: caller } = asker()
    log.before = ({ check }) => {
      right.isGranted = false
      check()
    }
    const refused = assert.rejects(store.add(someone, draft('a'), caller), { message: 'withdrawn' })
    await Promise.all([refused, store.add(someone, draft('b'))])
    assert.deepEqual([log.commits, names(store)], [[['a', 'b'], ['b']], ['b']])
  })

  it('of a change of many also counts once more when that is written', async () => {
    const { store, log } = open()
    const { right, asker: caller } = asker()
    log.before = ({ check }) => {
      right.isGranted = false
      check()
    }
    const importing = store.importAll(someone, [draft('a'), draft('b')], 'merge', undefined, caller)
    await assert.rejects(importing, { message: 'withdrawn' })
    assert.deepEqual(names(store), [])
  })

  describe('that has become another one when a change is written', () => {
    const rights = (grant: string) =>
      ({ kind: 'client', name: 'team', scope: 'write', grants: [grant] }) as const
    const ofA = rights('write?prefix=a%2F')
    const ofB = rights('write?prefix=b%2F')

    /** Somebody who loses his grant for another one when the next change is written. */
    async function setUp() {
      const { store, log } = open()
      for (const name of ['a/1', 'b/1']) await store.add(someone, draft(name))
      const caller = { principal: ofA as typeof ofA | typeof ofB, signal: new AbortController().signal }
      log.before = ({ check }) => {
        caller.principal = ofB
        check()
      }
      return { store, caller }
    }

    it('has it decided again', async () => {
      const { store, caller } = await setUp()
      await assert.rejects(store.add(someone, draft('a/2'), caller), NotGrantedError)
      assert.deepEqual(names(store), ['a/1', 'b/1'])
    })

    it('has it planned again, if it is of many', async () => {
      const { store, caller } = await setUp()
      const change = filteredChange({ matches: () => true, query: 'all=1', patch: { port: 1 } })
      await store.changeTogether(someone, change, undefined, caller)
      assert.deepEqual(
        store.list(0, 9).map(({ port }) => port),
        [22, 1],
      )
    })
  })
})

describe('a change that others were faster with', () => {
  it('is decided again once the log has caught up, and others beside it by halves', async () => {
    const { store, log, addElsewhere } = open()
    log.before = () => {
      log.before = () => {}
      throw new OvertakenError()
    }
    log.whileCatchingUp = () => {
      log.whileCatchingUp = () => {}
      addElsewhere('a')
    }
    const [first, second] = await Promise.allSettled(
      ['a', 'b', 'c', 'd'].map((name) => store.add(someone, draft(name))),
    )
    assert.ok(first?.status === 'rejected' && first.reason instanceof NameTakenError)
    assert.ok(second?.status === 'fulfilled' && second.value.id === 2)
    assert.deepEqual(log.commits, [['a', 'b', 'c', 'd'], ['b'], ['c', 'd']])
    assert.deepEqual(names(store), ['a', 'b', 'c', 'd'])
    await Promise.all(['e', 'f', 'g'].map((name) => store.add(someone, draft(name))))
    assert.deepEqual(log.commits.at(-1), ['e', 'f', 'g'])
  })

  it('is given up after a while', async () => {
    const { store, log, pass } = open()
    log.before = () => {
      pass(OVERTAKEN_MS_MAX / 4)
      throw new OvertakenError()
    }
    await assert.rejects(store.add(someone, draft('a')), (error: Error) => {
      assert.ok(error instanceof StorageUnavailableError)
      return /again and again/.test(error.message)
    })
    assert.equal(log.commits.length, 4)
  })

  it('is decided again however long it had waited before', async () => {
    const { store, log, pass } = open()
    const { promise, resolve } = Promise.withResolvers<void>()
    log.preparing = promise
    const adding = store.add(someone, draft('a'))
    await nextTurn()
    pass(OVERTAKEN_MS_MAX)
    resolve()
    log.before = () => {
      log.before = () => {}
      throw new OvertakenError()
    }
    assert.equal((await adding).name, 'a')
  })

  it('is given up after some tries, if it is of many', async () => {
    const { store, log } = open()
    await store.add(someone, draft('a'))
    log.commits.length = 0
    log.before = () => {
      throw new OvertakenError()
    }
    const change = filteredChange({ matches: () => true, query: 'all=1', patch: { port: 1 } })
    await assert.rejects(store.changeTogether(someone, change), /other nodes changed records meanwhile/)
    assert.equal(log.commits.length, BULK_TRIES_MAX)
  })

  it('tells of a refusal only when the log has caught up', async () => {
    const { store, log, addElsewhere } = open()
    await store.add(someone, draft('a'))
    log.whileCatchingUp = () => {
      log.whileCatchingUp = () => {}
      addElsewhere('b')
    }
    assert.equal((await store.remove(someone, 'b')).name, 'b')
    assert.equal(log.catchUps, 1)
  })

  it('is not refused for a state from before it came', async () => {
    const { store, log, addElsewhere } = open()
    let later: Promise<unknown> | undefined
    log.whileCatchingUp = () => {
      log.whileCatchingUp = () => addElsewhere('b')
      // This one knows of a record that the log hears of only when it catches up again.
      later = store.remove(someone, 'b')
    }
    await assert.rejects(store.remove(someone, 'a'), UnknownNameError)
    await later
    assert.equal(log.catchUps, 2)
  })

  it('is not refused for such a state either when one of those that wait has to wait again', async () => {
    const { store, log, addElsewhere } = open()
    log.allowsSequences = false
    let later: Promise<unknown> | undefined
    log.whileCatchingUp = () => {
      log.whileCatchingUp = () => {
        log.whileCatchingUp = () => {}
        addElsewhere('b')
      }
      // Only now do both of those below depend on each other.
      addElsewhere('a')
      later = store.remove(someone, 'b')
    }
    const modified = store.modify(someone, 'a', { port: 1 })
    await assert.rejects(store.add(someone, draft('a')), NameTakenError)
    await Promise.all([modified, later])
    assert.deepEqual(names(store), ['a'])
  })
})

describe('a change of many that finds nothing', () => {
  it('waits for no other change', async () => {
    const { store, log } = open()
    const held = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    log.before = () => {
      begun.resolve()
      return held.promise
    }
    const adding = store.add(someone, draft('a'))
    await begun.promise
    const { tag } = await store.changeTogether(
      someone,
      filteredChange({ matches: () => true, query: 'all=1', patch: { port: 1 } }),
    )
    assert.equal(tag, store.tag)
    held.resolve()
    await adding
  })

  it('is refused all the same if the records are not the expected ones any more', async () => {
    const { store, log, addElsewhere } = open()
    const { tag } = store
    let isAdded = false
    const expected = (now: string) => {
      if (now !== tag) return false
      // The plan is still to be made, and finds the record as it shall be.
      if (!isAdded) addElsewhere('a')
      isAdded = true
      return true
    }
    const importing = store.importAll(someone, [draft('a')], 'merge', expected)
    await assert.rejects(importing, StaleListError)
    assert.deepEqual(log.commits, [])
  })

  it('has a turn all the same if records have changed since they were looked at', async () => {
    const { store, addElsewhere } = open()
    const change = filteredChange({ matches: () => true, query: 'all=1', patch: undefined })
    const planFor = (stored: StoredNow) => {
      const planner = change.planFor(stored)
      return {
        decide: () => planner.decide(),
        decideAgain: (changed: ChangedRecords) => planner.decideAgain(changed),
        conclude: (lastId: number) => {
          if (store.count === 0) addElsewhere('a')
          return planner.conclude(lastId)
        },
      }
    }
    const { removed } = await store.changeTogether(someone, { ...change, planFor })
    assert.deepEqual([removed.map(({ name }) => name), names(store)], [['a'], []])
  })
})

describe('a change of many that was planned before its turn', () => {
  /** Called when its turn comes: until then it catches up once, to be planned. */
  const inTurn = (log: ScriptedLog, then: () => void) => {
    log.whileCatchingUp = () => {
      log.whileCatchingUp = then
    }
  }

  it('is refused if by then there is no memory for it', async () => {
    const { store, log, addElsewhere } = open(3.5 * recordMemory(amountOf(new Configuration(1, draft('a')))))
    inTurn(log, () => ['c', 'd'].map(addElsewhere))
    await assert.rejects(store.importAll(someone, [draft('a'), draft('b')], 'merge'), MemoryFullError)
    assert.deepEqual([log.commits, names(store)], [[], ['c', 'd']])
  })

  it('is refused if by then it would affect more records than it may', async () => {
    const { store, log, addElsewhere } = open()
    await store.add(someone, draft('a'))
    log.commits.length = 0
    inTurn(log, () => addElsewhere('b'))
    const change = { matches: () => true, query: 'all=1', patch: { port: 1 }, affectedMax: 1 }
    await assert.rejects(store.changeTogether(someone, filteredChange(change)), TooManyAffectedError)
    assert.deepEqual(log.commits, [])
  })

  it('is planned again if by then others are in the place of all records', async () => {
    const { store, log, records } = open()
    inTurn(log, () => {
      log.whileCatchingUp = () => {}
      const others = new ConfigurationIndex()
      others.apply({ add: new Configuration(7, draft('a')) }, 7)
      records.replace(others)
    })
    const { added, modified } = await store.importAll(someone, [draft('a', { port: 3 })], 'merge')
    assert.deepEqual([added, modified.map(({ after }) => [after.id, after.port])], [[], [[7, 3]]])
    assert.equal(store.find('a')?.port, 3)
  })

  it('is not made if by then its caller has gone', async () => {
    const { store, log } = open()
    const gone = new Error('gone')
    const client = new AbortController()
    const planned = Promise.withResolvers<void>()
    let asked = 0
    const checkAgain = () => {
      asked += 1
      // Before its plan, and after it.
      if (asked === 2) planned.resolve()
    }
    log.before = async () => {
      await planned.promise
      await nextTurn()
      client.abort(gone)
    }
    const asker = { signal: client.signal, checkAgain }
    const importing = store.importAll(someone, [draft('a')], 'merge', undefined, asker)
    await Promise.all([store.add(someone, draft('b')), assert.rejects(importing, gone)])
    assert.deepEqual(log.commits, [['b']])
  })
})

describe('the ids of a change of many that is not made', () => {
  for (const [error, isKept] of [
    [new TooManyChangesError('too large'), false],
    [new StorageFullError('no room'), true],
    [new StorageUnavailableError('the disk failed'), true],
  ] as const)
    it(`are ${isKept ? 'not given again' : 'still free'}: ${error.message}`, async () => {
      const { store, log } = open()
      log.before = () => {
        log.before = () => {}
        throw error
      }
      await assert.rejects(store.importAll(someone, [draft('a'), draft('b')], 'merge'), error)
      assert.equal((await store.add(someone, draft('c'))).id, isKept ? 3 : 1)
    })
})
