import { shareOf } from '../budget.ts'
import { createFairQueue } from '../fair-queue.ts'
import { isUnchanged } from '../http/header-fields.ts'
import { callerKey, JSON_TYPE, type Reply, type Request } from '../http/message.ts'
import type { Scheduler } from '../scheduler.ts'
import { type Access, accessOf } from '../store/access.ts'
import type { ConfigurationStore } from '../store/configuration-store.ts'
import {
  countLabelValues,
  LABEL_KEYS_LISTED_MAX,
  LABEL_VALUES_LISTED_MAX,
  type LabelCounts,
} from '../store/label-counts.ts'
import { type Filter, matcherOf } from '../store/record-filter.ts'
import { COUNTED_TEXT_BYTES } from '../store/text-counts.ts'
import { inCode } from '../text.ts'
import { json } from './bodies.ts'
import { keyOfFilter } from './filter-key.ts'
import { filterNames, parseFilter, repeatableFilterNames } from './filter-query.ts'
import { CACHE_CONTROL, checkIfMatch } from './list-reply.ts'
import { filterParameters, searchParameter } from './parameters.ts'
import { checkQuery, parseQuery } from './query.ts'
import { defineResource } from './resource.ts'

/** Characters of the answers that are kept until a record changes. */
export const REMEMBERED_COUNTS_CHARACTERS_MAX = 1024 * 1024
/** Counts that wait; one more is refused with 503. Only one is under way: each holds as many values as there is memory for. */
export const COUNTS_WAITING_MAX = 1_000

const parameters = ['q', ...filterNames] as const

/** Which labels records have. */
export const labelCounts = defineResource({
  handlers: ({ store, scheduler }) => labelCountHandlers(store, scheduler),
  routes: [
    {
      method: 'GET',
      path: '/v1/labels',
      access: 'read',
      limits: 'records',
      summary: `lists keys and values of labels with their counts; optional: ${inCode([...parameters, 'label'])}`,
      answers: '200 `{"labels":[…],"more":…}`',
      operation: {
        id: 'listLabels',
        tag: 'configurations',
        notes: `The most frequent ${LABEL_KEYS_LISTED_MAX} keys, each with its most frequent ${LABEL_VALUES_LISTED_MAX} values, of the records that the filters keep.`,
        parameters: [searchParameter, ...filterParameters],
        isConditional: true,
        answers: {
          200: { description: 'The labels.', headers: ['ETag'], content: json('LabelCounts') },
        },
        problems: ['overloaded', 'answer_too_large'],
      },
      handler: 'list',
    },
  ],
})

/** @param textsMax Different keys and values that are held at once, while labels are counted. */
export function labelCountHandlers(
  store: ConfigurationStore,
  scheduler: Scheduler,
  textsMax = Math.floor(shareOf('labelCounts') / COUNTED_TEXT_BYTES),
) {
  const remembered = new RememberedCounts()
  const queue = createFairQueue(
    1,
    COUNTS_WAITING_MAX,
    'Too many counts of labels are waiting; try again later',
  )
  return { list }

  function list(request: Request): Reply | Promise<Reply> {
    const access = accessOf(request)
    const asked = parseOnlyFilter(request.query)
    const filter = access === undefined ? asked : (access.limit(asked) ?? {})
    const { tag } = store
    const etag = `"${store.tagFor(access)}"`
    checkIfMatch(request, etag)
    if (isUnchanged(request.headers['if-none-match'], etag))
      return { status: 304, headers: { 'Cache-Control': CACHE_CONTROL, ETag: etag } }
    const key = keyOfFilter(filter)
    const body = remembered.find(key, tag)
    return body === undefined ? count(request, filter, key, access) : reply(body, etag)
  }

  async function count(
    request: Request,
    filter: Filter,
    key: string,
    access: Access | undefined,
  ): Promise<Reply> {
    const caller = callerKey(request)
    await queue.enter([caller])
    try {
      request.signal.throwIfAborted()
      // Another caller may have asked the same.
      const known = remembered.find(key, store.tag)
      if (known !== undefined) return reply(known, `"${store.tagFor(access)}"`)
      const { tag, etag, text } = await scheduler.run(caller, look(filter, access), request.signal)
      remembered.add(key, tag, text)
      checkIfMatch(request, etag)
      return reply(text, etag)
    } finally {
      queue.leave()
    }
  }

  function* look(filter: Filter, access: Access | undefined) {
    const { tag } = store
    const etag = `"${store.tagFor(access)}"`
    const counts = yield* countLabelValues(store.freeze().leaves, matcherOf(filter), textsMax)
    return { tag, etag, text: yield* textOf(counts) }
  }
}

/** As JSON, a key a slice. */
function* textOf({ labels, more }: LabelCounts) {
  const pieces: string[] = []
  for (const label of labels) {
    pieces.push(JSON.stringify(label))
    yield
  }
  return `{"labels":[${pieces.join(',')}],"more":${more}}`
}

/** @throws {InvalidInputError} naming every faulty parameter. */
function parseOnlyFilter(text: string): Filter {
  const query = parseQuery(text, parameters, repeatableFilterNames)
  const filter = parseFilter(query) ?? {}
  checkQuery(query)
  return filter
}

function reply(body: string, etag: string): Reply {
  const headers = { 'Content-Type': JSON_TYPE, 'Cache-Control': CACHE_CONTROL, ETag: etag }
  return { status: 200, headers, body }
}

/** The last answers, by their filters, for as long as no record changes. */
class RememberedCounts {
  readonly #bodies = new Map<string, string>()
  #tag = ''
  #characters = 0

  find(key: string, tag: string): string | undefined {
    return tag === this.#tag ? this.#bodies.get(key) : undefined
  }

  add(key: string, tag: string, body: string): void {
    const characters = key.length + body.length
    if (tag !== this.#tag || this.#characters + characters > REMEMBERED_COUNTS_CHARACTERS_MAX) this.#clear()
    this.#tag = tag
    if (characters > REMEMBERED_COUNTS_CHARACTERS_MAX || this.#bodies.has(key)) return
    this.#bodies.set(key, body)
    this.#characters += characters
  }

  #clear() {
    this.#bodies.clear()
    this.#characters = 0
  }
}
