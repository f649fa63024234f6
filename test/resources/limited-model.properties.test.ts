import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { RecordHistories } from '../../src/audit/record-history.ts'
import { dataPaths } from '../../src/files/data-folder.ts'
import type { Request } from '../../src/http/message.ts'
import { configurationHandlers } from '../../src/resources/configurations.ts'
import { EventPieces, placeNow } from '../../src/resources/event-text.ts'
import { historyHandlers } from '../../src/resources/history.ts'
import { Scheduler } from '../../src/scheduler.ts'
import { accessOf } from '../../src/store/access.ts'
import type { Configuration } from '../../src/store/configuration.ts'
import { parseGrants } from '../../src/store/grants.ts'
import { eventsIn } from '../support/event-reader.ts'
import { createMemoryLog } from '../support/memory-log.ts'
import { bodyOf, requestOf } from '../support/message.ts'
import { casesOfSlow, holdLaterFor } from '../support/properties/hold-property.ts'
import { draft, openStore, someone } from '../support/store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const CASES = casesOfSlow(25, 2_000)

const names = fc.constantFrom('a/1', 'a/2', 'b/1', 'b/2')
const labels = fc.constantFrom({}, { team: 'a' }, { team: 'b' }, { team: 'a', group: 'x,y' })
const steps = fc.array(
  fc.oneof(
    fc.record({ put: names, port: fc.integer({ min: 1, max: 3 }), labels }),
    fc.record({ rename: names, to: names }),
    fc.record({ remove: names }),
    fc.record({
      file: fc.uniqueArray(names, { minLength: 1 }),
      port: fc.integer({ min: 4, max: 6 }),
      labels,
    }),
  ),
  { minLength: 1, maxLength: 12 },
)
const grants = fc.array(
  fc.constantFrom(
    'read',
    'read?prefix=a%2F',
    'write?prefix=b',
    'read?label=team=a',
    'write?label=group=x',
    'read?label=!team',
    'read?prefix=a%2F1&label=team',
  ),
  { minLength: 1, maxLength: 3 },
)

/** One change of a record, in the order in which it was made. */
interface Made {
  readonly before: Configuration | undefined
  readonly after: Configuration | undefined
}

type Step = typeof steps extends fc.Arbitrary<(infer One)[]> ? One : never

describe('what an account with grants gets to know', () => {
  it('is what a plain look at all changes says: lists, events and histories', async (t) => {
    await holdLaterFor(
      t,
      fc.tuple(grants, steps),
      async ([given, wanted]) => {
        const folder = await temporaryFolder(t)
        const { store, trail, close } = await openStore(t, folder, { hasTrail: true })
        assert.ok(trail !== undefined)
        const all: Made[] = []
        store.onDurable((change, _, before) => {
          all.push({
            before,
            after: 'remove' in change ? undefined : 'add' in change ? change.add : change.modify,
          })
        })
        const began = placeNow(store)
        for (const step of wanted) await make(store, step).catch(() => {})
        const limits = parseGrants(given)
        const access = accessOf({ principal: { grants: limits } })
        assert.ok(access !== undefined)
        const seen = all.flatMap(({ before, after }) => {
          const [was, is] = [access.seenOf(before), access.seenOf(after)]
          return was === undefined && is === undefined ? [] : [{ was, is }]
        })
        const scheduler = new Scheduler()
        const asked = (query: string): Request => ({
          ...requestOf({}, '', query),
          method: 'GET',
          principal: { kind: 'user', name: 'limited', scope: 'read', grants: limits },
        })

        const { list } = configurationHandlers(store, '', scheduler)
        const listed = await list(asked(''))
        const shown = store.list(0, store.count).filter(access.sees)
        assert.equal(bodyOf(listed), JSON.stringify({ configurations: shown }))

        const filter = access.limit(undefined) ?? {}
        let text = ''
        for (let after = began; after < store.recent.last; ) {
          // As for each round of the streams: a slice that was over too early goes on in the next one.
          const { live, upTo } = new EventPieces(store).at({ after, filter, access, filterKey: 'x' })
          text += live?.bytes.toString() ?? ''
          after = upTo
        }
        const events = eventsIn(text)
        assert.deepEqual(
          events.map(({ event, data }) => [event, JSON.stringify(data)]),
          seen.map(({ was, is }) => {
            const kind = was === undefined ? 'added' : is === undefined ? 'removed' : 'modified'
            const data = { configuration: is ?? was, ...(kind === 'modified' ? { before: was } : {}) }
            return [kind, JSON.stringify(data)]
          }),
        )

        const histories = new RecordHistories(dataPaths(folder), trail, createMemoryLog())
        const history = historyHandlers(store, histories, scheduler)
        const entriesIn = (text: string) =>
          (JSON.parse(text) as { history: { event: string; record?: object }[] }).history
        const kindOf = ({ was, is }: (typeof seen)[number]) =>
          was === undefined ? 'added' : is === undefined ? 'deleted' : 'modified'
        const expected = (some: typeof seen) =>
          some.toReversed().map((one) => {
            const kind = kindOf(one)
            return [
              `configuration_${kind}`,
              kind === 'modified' ? undefined : JSON.stringify(one.is ?? one.was),
            ]
          })
        const told = (text: string) =>
          entriesIn(text).map(({ event, record }) => [event, record && JSON.stringify(record)])
        assert.deepEqual(told(bodyOf(await history.list(asked('limit=1000')))), expected(seen))
        for (const name of ['a/1', 'b/2']) {
          const present: Configuration | undefined = access.seenOf(store.find(name))
          const last = seen.findLast(({ was, is }) => was?.name === name || is?.name === name)
          const id: number | undefined = present?.id ?? (last?.is ?? last?.was)?.id
          const answer = await history.read(asked('limit=100'), name).then(bodyOf, (error) => error.code)
          if (id === undefined) assert.equal(answer, 'unknown_name')
          else assert.deepEqual(told(answer), expected(seen.filter(({ was, is }) => (is ?? was)?.id === id)))
        }
        await close()
      },
      CASES,
    )
  })
})

async function make(store: Awaited<ReturnType<typeof openStore>>['store'], step: Step): Promise<unknown> {
  if ('put' in step) return store.put(someone, draft(step.put, { port: step.port, labels: step.labels }))
  if ('rename' in step) return store.modify(someone, step.rename, { name: step.to })
  if ('remove' in step) return store.remove(someone, step.remove)
  const { file, port } = step
  return store.importAll(
    someone,
    file.map((name) => draft(name, { port, labels: step.labels })),
    'merge',
  )
}
