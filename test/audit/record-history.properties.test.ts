import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { readFile, truncate, writeFile } from 'node:fs/promises'
import { describe, it } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import * as fc from 'fast-check'
import { changesBetween } from '../../src/audit/audit-line.ts'
import { type AuditTrail, openAuditTrail } from '../../src/audit/audit-trail.ts'
import type { HistoryPlace } from '../../src/audit/history-walk.ts'
import type { PastChange } from '../../src/audit/past-records.ts'
import { RecordHistories } from '../../src/audit/record-history.ts'
import { auditFiles, type DataPaths, dataPaths } from '../../src/files/data-folder.ts'
import { IMPORT_AUDITED_RECORDS_MAX } from '../../src/limits.ts'
import type { ImportNote } from '../../src/store/authorship.ts'
import type { Alteration, Change } from '../../src/store/change.ts'
import { Configuration } from '../../src/store/configuration.ts'
import { listTag } from '../../src/store/list-tag.ts'
import { timestamp } from '../../src/timestamp.ts'
import { createFailingFiles } from '../support/failing-files.ts'
import { createMemoryLog } from '../support/memory-log.ts'
import { casesOfSlow, holdLaterFor } from '../support/properties/hold-property.ts'
import { draft, someone } from '../support/store.ts'
import { folderInMemory } from '../support/temporary-folder.ts'

const CASES = casesOfSlow(25, 1_000)
/** Few, so that they are taken again; some need escapes. */
const names = ['a', 'b', 'c"', 'd\u200f', 'e\\']
const BIG = 10 * 1024 * 1024
const SMALL = 1_500

/** An entry of a history. */
type Told = Record<string, unknown> & { readonly time: string }

interface Made {
  readonly store: string
  readonly revision: number
  readonly change: Change
  readonly before: Configuration | undefined
  readonly id: number
  readonly time: string
  /** The counts of changes that the trail does not list one by one. */
  readonly counts?: ImportNote
}

type Step =
  | { readonly put: string; readonly port: number }
  | { readonly rename: string; readonly to: string }
  | { readonly remove: string }
  | { readonly replace: readonly string[]; readonly fillers: number }
  | { readonly restart: true }
  | { readonly crash: number }
  | { readonly damage: number }
  | { readonly restore: true }

const name = fc.constantFrom(...names)
const usual: fc.WeightedArbitrary<Step>[] = [
  { weight: 12, arbitrary: fc.record({ put: name, port: fc.integer({ min: 1, max: 9 }) }) },
  { weight: 4, arbitrary: fc.record({ rename: name, to: name }) },
  { weight: 4, arbitrary: fc.record({ remove: name }) },
  { weight: 2, arbitrary: fc.record({ replace: fc.subarray(names), fillers: fc.constant(0) }) },
  { weight: 1, arbitrary: fc.constant({ restart: true } as const) },
]
const harmful: fc.WeightedArbitrary<Step>[] = [
  {
    weight: 1,
    arbitrary: fc.record({
      replace: fc.subarray(names),
      fillers: fc.constant(IMPORT_AUDITED_RECORDS_MAX + 1),
    }),
  },
  { weight: 1, arbitrary: fc.record({ crash: fc.integer({ min: 1, max: 900 }) }) },
  { weight: 1, arbitrary: fc.record({ damage: fc.integer({ min: 0, max: 99 }) }) },
  { weight: 1, arbitrary: fc.constant({ restore: true } as const) },
]
const stepsOf = (kinds: fc.WeightedArbitrary<Step>[]) =>
  fc.array(fc.oneof(...kinds), { minLength: 1, maxLength: 60 })

/** Records and their changes, with a trail that gets each change as the storage hands it on. */
class World {
  readonly paths: DataPaths
  readonly #bytesMax: number
  readonly #tick: () => void
  #trail: AuditTrail | undefined
  readonly records = new Map<string, Configuration>()
  readonly made: Made[] = []
  store = 'store001'
  revision = 0
  #lastId = 0
  #fillers: Configuration[] = []

  constructor(paths: DataPaths, bytesMax: number, tick: () => void) {
    this.paths = paths
    this.#bytesMax = bytesMax
    this.#tick = tick
  }

  get trail(): AuditTrail {
    return this.#trail ?? assert.fail('It is not open')
  }

  async open() {
    this.#tick()
    this.#trail = await openAuditTrail(this.paths, createMemoryLog(), this.#bytesMax)
    const listed = (await this.#trail.listed())(this.store)
    for (const { store, change, revision, before } of this.made) {
      if (store === this.store && listed?.has(revision) === false)
        this.#trail.list(store, change, revision, before)
    }
    await this.#trail.begin(listTag(this.store, this.revision), {})
  }

  async take(step: Step) {
    this.#tick()
    if ('put' in step) this.#make(this.#put(step.put, step.port))
    else if ('rename' in step) this.#make(this.#rename(step.rename, step.to))
    else if ('remove' in step) this.#make(this.#remove(step.remove))
    else if ('replace' in step) this.#import(step.replace, step.fillers)
    else {
      await this.trail.close()
      if ('crash' in step) await this.#cutEnd(step.crash)
      if ('damage' in step) await this.#damage(step.damage)
      if ('restore' in step) this.store = `store${String(Number(this.store.slice(5)) + 1).padStart(3, '0')}`
      await this.open()
    }
  }

  async [Symbol.asyncDispose]() {
    await this.#trail?.close()
  }

  #put(name: string, port: number): Alteration[] {
    const before = this.records.get(name)
    if (before === undefined) return [{ add: new Configuration(++this.#lastId, draft(name, { port })) }]
    const after = before.with({ port })
    return after === before ? [] : [{ modify: after, name }]
  }

  #rename(name: string, to: string): Alteration[] {
    const before = this.records.get(name)
    return before === undefined || this.records.has(to) ? [] : [{ modify: before.with({ name: to }), name }]
  }

  #remove(name: string): Alteration[] {
    return this.records.has(name) ? [{ remove: name }] : []
  }

  /** Removes the records that are not named, and changes the others; fillers come and go. */
  #import(kept: readonly string[], fillers: number) {
    const gone = [...this.records.keys()].filter((each) => !kept.includes(each) || this.#isFiller(each))
    const removed = gone.flatMap((each) => this.#remove(each))
    const put = kept.flatMap((each) => this.#put(each, 1 + (this.revision % 9)))
    this.#fillers = Array.from(
      { length: fillers },
      () => new Configuration(++this.#lastId, draft(`filler ${this.#lastId}`)),
    )
    this.#make([...removed, ...put, ...this.#fillers.map((add) => ({ add }))], true)
  }

  #isFiller(name: string): boolean {
    return name.startsWith('filler ')
  }

  #make(alterations: readonly Alteration[], isImport = false) {
    const time = timestamp()
    const note = {
      mode: 'replace',
      added: alterations.length,
      modified: 0,
      removed: 0,
      unchanged: 0,
    } as const
    for (const [i, alteration] of alterations.entries()) {
      const authorship = { actor: someone, time, ...(isImport && i === 0 ? { import: note } : {}) }
      const isUnlisted = isImport && alterations.length > IMPORT_AUDITED_RECORDS_MAX
      const change: Change = { ...alteration, authorship }
      const before = this.#apply(alteration)
      this.revision += 1
      const after = 'add' in change ? change.add : before
      this.made.push({
        store: this.store,
        revision: this.revision,
        change,
        before,
        id: after?.id ?? assert.fail(),
        time,
        ...(isUnlisted ? { counts: note } : {}),
      })
      this.trail.list(this.store, change, this.revision, before)
    }
  }

  #apply(alteration: Alteration): Configuration | undefined {
    if ('add' in alteration) {
      this.records.set(alteration.add.name, alteration.add)
      return undefined
    }
    const name = 'remove' in alteration ? alteration.remove : alteration.name
    const before = this.records.get(name)
    this.records.delete(name)
    if ('modify' in alteration) this.records.set(alteration.modify.name, alteration.modify)
    return before
  }

  async #cutEnd(bytes: number) {
    const path = this.paths.file(auditFiles[0])
    const { length } = await readFile(path)
    await truncate(path, Math.max(0, length - bytes))
  }

  async #damage(which: number) {
    const path = this.paths.file(auditFiles[0])
    const lines = (await readFile(path, 'utf8')).split('\n')
    const at = which % lines.length
    const line = lines[at] ?? ''
    await writeFile(path, lines.with(at, line.slice(0, (which * line.length) / 100)).join('\n'))
  }
}

function entryOf({ change, before, time, id }: Made): Told {
  const who = { time, by: 'someone', kind: 'user', id, name: nameOf(change) }
  if ('add' in change)
    return { ...who, event: 'configuration_added', record: JSON.parse(change.add.json) as object }
  assert.ok(before !== undefined)
  if ('remove' in change)
    return { ...who, event: 'configuration_deleted', record: JSON.parse(before.json) as object }
  return { ...who, event: 'configuration_modified', changed: changesBetween(before, change.modify).changed }
}

function nameOf(change: Change): string {
  return 'add' in change ? change.add.name : 'remove' in change ? change.remove : change.name
}

function namesIn({ change, before }: Made): (string | undefined)[] {
  if ('add' in change) return [change.add.name]
  return 'modify' in change ? [before?.name, change.modify.name] : [before?.name]
}

/** Asserts of each name, with some limit, that the history is true, and complete where it says so. */
async function assertTold(world: World, limit: number, isWhole: boolean) {
  const histories = new RecordHistories(world.paths, world.trail, createMemoryLog())
  const asked = { store: `${world.store}-more`, revision: world.revision }
  const turn = async <Result>(piece: () => Result) => piece()
  const own = world.made.filter(({ store }) => store === world.store).toReversed()
  for (const each of names) {
    const holder = world.records.get(each)?.id
    const lastId = own.find((made) => namesIn(made).includes(each))?.id
    const found = await histories.findLastHolder(asked, each, turn)
    if (isWhole) assert.equal(found, lastId)
    else if (found !== undefined)
      assert.ok(own.some((made) => made.id === found && namesIn(made).includes(each)))
    const id = holder ?? found
    if (id === undefined) continue
    const { history, since } = await histories.read(asked, id, limit, turn)
    const changes = own.filter((made) => made.id === id).map(entryOf)
    assert.ok(history.length <= limit)
    if (history.length === limit) assert.ok(since >= (history.at(-1)?.time ?? ''))
    // In this order, and each once.
    let next = 0
    for (const entry of history) {
      const at = changes.findIndex(
        (change, i) => i >= next && JSON.stringify(sorted(change)) === JSON.stringify(sorted(entry)),
      )
      assert.notEqual(at, -1, `${JSON.stringify(entry)} is no change, or not in its place`)
      next = at + 1
    }
    const later = changes.filter(({ time }) => time > since)
    assert.deepEqual(history.slice(0, later.length).map(sorted), later.map(sorted), `since ${since}`)
    if (!isWhole) continue
    assert.deepEqual(history.map(sorted), changes.slice(0, limit).map(sorted))
    if (history.length > 0) assert.equal(since, history.at(-1)?.time)
  }
}

/** Asserts the same of the history of all, page by page. */
async function assertAllTold(world: World, limit: number, isWhole: boolean, port?: number) {
  const histories = new RecordHistories(world.paths, world.trail, createMemoryLog())
  const asked = { store: `${world.store}-more`, revision: world.revision }
  const turn = async <Result>(piece: () => Result) => piece()
  const find = (id: number) => world.records.values().find((record) => record.id === id)
  const keeps = ({ before, after }: Pick<PastChange, 'before' | 'after'>) =>
    before?.port === port || after?.port === port
  const expected = world.made
    .filter(({ store }) => store === world.store)
    .toReversed()
    .filter(({ change, before }) => port === undefined || keeps({ before, after: recordOf(change) }))
    .filter(({ counts }, i, all) => counts === undefined || counts !== all[i - 1]?.counts)
    .map((made) => (made.counts === undefined || port !== undefined ? entryOf(made) : countedOf(made)))
  const all = world.made.filter(({ store }) => store === world.store).map(entryOf)
  let next = 0
  let before: HistoryPlace | undefined
  do {
    const query = { limit, before, ...(port === undefined ? {} : { keeps }) }
    const page = await histories.readAll(asked, query, find, turn)
    assert.ok(page.entries.length === limit || page.next === undefined)
    const told = page.entries.map((json) => sorted(JSON.parse(json) as Told) as Told)
    const rest = expected.slice(next).map(sorted) as Told[]
    if (isWhole) {
      assert.deepEqual(told, rest.slice(0, limit))
      for (const { time } of told) assert.ok(page.since <= time)
    }
    // Of what is newer than the place where the page begins, `since` says nothing.
    const later = rest.filter(({ time }) => time > page.since)
    assert.deepEqual(told.slice(0, later.length), later, `since ${page.since}`)
    for (const entry of told) {
      const isSame = (change: Told) => isDeepStrictEqual(sorted(change), entry)
      const at = expected.findIndex((change, i) => i >= next && isSame(change))
      // Where changes are missing, the filter gets records as they may not have been.
      if (at === -1 && port !== undefined && entry.time <= page.since) assert.ok(all.some(isSame))
      else assert.notEqual(at, -1, `${JSON.stringify(entry)} is no change, or not in its place`)
      next = Math.max(next, at + 1)
    }
    before = page.next
  } while (before !== undefined)
  if (isWhole) assert.equal(next, expected.length)
}

function recordOf(change: Change): Configuration | undefined {
  return 'remove' in change ? undefined : 'add' in change ? change.add : change.modify
}

function countedOf({ counts, time }: Made): Told {
  return { time, event: 'configurations_imported', by: 'someone', kind: 'user', ...counts }
}

function sorted(entry: object): object {
  return Object.fromEntries(Object.entries(entry).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

describe('the history of a record', () => {
  const limit = fc.constantFrom(1, 3, 100)

  it('is all of its changes, up to the limit, while the trail has all lines', async (t) => {
    t.mock.timers.enable({ apis: ['Date'], now: Date.parse('2026-01-01T00:00:00Z') })
    await holdLaterFor(
      t,
      fc.record({ steps: stepsOf(usual), limit }),
      async ({ steps, limit }) => {
        await using world = new World(dataPaths(await folderInMemory(t)), BIG, () => t.mock.timers.tick(1))
        await world.open()
        for (const step of steps) await world.take(step)
        await assertTold(world, limit, true)
        for (const port of [undefined, 1, 2]) await assertAllTold(world, limit, true, port)
      },
      CASES,
    )
  })

  it('is true, and complete from where it says so, whatever the trail has lost', async (t) => {
    t.mock.timers.enable({ apis: ['Date'], now: Date.parse('2026-01-01T00:00:00Z') })
    const readBytesMax = fc.constantFrom(100, 5_000, Number.POSITIVE_INFINITY)
    await holdLaterFor(
      t,
      fc.record({ steps: stepsOf([...usual, ...harmful]), limit, readBytesMax, isSmall: fc.boolean() }),
      async ({ steps, limit, readBytesMax, isSmall }) => {
        const files = createFailingFiles()
        const paths = dataPaths(await folderInMemory(t), files)
        await using world = new World(paths, isSmall ? SMALL : BIG, () => t.mock.timers.tick(1))
        await world.open()
        for (const [i, step] of steps.entries()) {
          await world.take(step)
          files.readBytesMax = readBytesMax
          if (i % 15 === 14) await assertTold(world, limit, false)
          files.readBytesMax = Number.POSITIVE_INFINITY
        }
        files.readBytesMax = readBytesMax
        await assertTold(world, limit, false)
        for (const port of [undefined, 1, 2]) await assertAllTold(world, limit, false, port)
      },
      CASES,
    )
  })
})
