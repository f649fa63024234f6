import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { InvalidInputError } from '../../src/errors.ts'
import { configurationHandlers } from '../../src/resources/configurations.ts'
import { SEARCH_RECORDS_MAX } from '../../src/resources/filtered-list.ts'
import { Scheduler } from '../../src/scheduler.ts'
import type { NewConfiguration } from '../../src/store/configuration.ts'
import { loadStore } from '../support/loaded-store.ts'
import { bodyOf, requestOf } from '../support/message.ts'
import { casesOfSlow, holdLaterFor } from '../support/properties/hold-property.ts'
import { joined, shortName } from '../support/properties/texts.ts'
import { draft } from '../support/store.ts'

const CASES = casesOfSlow(300, 10_000)
const fields = ['name', 'hostname', 'port', 'username'] as const
const filters = ['q', 'prefix', ...fields] as const
const sorts = [undefined, ...fields.flatMap((field) => [field, `-${field}`])]

type Wish = Partial<Record<(typeof filters)[number], string>> & {
  /** The values of `label`. */
  readonly labels?: readonly string[] | undefined
  readonly sort?: string | undefined
  readonly pages?: readonly [page: number, perPage: number] | undefined
}

/** Few texts, so that many records share them; small and capital letters, and letters that change their length. */
const texts = [
  'a',
  'A',
  'aB',
  'Ab',
  'ab',
  'b',
  'K',
  '\u212a',
  'İ',
  'i̇',
  'Σ',
  'σ',
  'ς',
  'ß',
  '\uff61',
  '😀',
  '\ud83d\ude01',
  '%',
  '+ ',
  '__proto__',
]
const labelKeys = ['a', 'constructor', 'valueof', 'e/n.v-1', 'group'] as const
const labelValues = ['', '=', 'a', 'b=', '😀', 'a,b=', ' a , , B', ',', '!='] as const
const hostile = texts.flatMap((name, i): NewConfiguration[] => [
  draft(name, { hostname: texts[(i * 7) % 5] ?? '', port: 1 + (i % 3), username: texts[(i * 3) % 20] ?? '' }),
  draft(`l-${name}`, {
    labels: Object.fromEntries(
      labelKeys
        .slice((i >> 2) % 3, i % 6)
        .map((key, j) => [key, labelValues[(i + j) % labelValues.length] ?? '']),
    ),
  }),
  draft(`${name}${texts[(i * 11 + 1) % 20]}`, { hostname: 'A', port: 65_535, username: 'Root' }),
  draft(`x-${i}${name}`, { hostname: `h.${name}`, port: 22, username: 'root' }),
])

describe('a list with filters', () => {
  const ask = askerOf(hostile)

  it('equals the model: filtered, then sorted, then cut, in every combination of filters, sort and pages', async () => {
    for (let given = 0; given < 2 ** filters.length; given++) {
      for (const [i, sort] of sorts.entries()) {
        const like = hostile[(given * 13 + i * 5) % hostile.length] ?? draft('a')
        const values = {
          q: like.name.slice(0, 1),
          prefix: like.name.slice(0, 2),
          ...like,
          port: String(like.port),
        }
        const chosen = Object.fromEntries(
          filters.flatMap((name, bit) => (given & (1 << bit) ? [[name, values[name]]] : [])),
        )
        const wellFormed = Object.values(chosen).every((value) => value.isWellFormed())
          ? chosen
          : { prefix: 'x' }
        await ask({ ...wellFormed, sort })
        await ask({ ...wellFormed, sort, pages: [i % 3, 1 + (given % 4)] })
      }
    }
  })

  it('equals the model for any texts', async (t) => {
    const text = fc
      .oneof(joined(texts, shortName, 3), fc.constantFrom('x-', 'root', 'h.', '22'))
      .filter((one) => one !== '')
    const port = fc.constantFrom('1', '2', '3', '22', '65535', '80')
    const some = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: undefined, freq: 1 })
    const wishes = fc.record({
      q: some(text),
      prefix: some(text),
      name: some(fc.oneof(text, fc.constantFrom(...hostile.map(({ name }) => name)))),
      hostname: some(text),
      port: some(port),
      username: some(text),
      labels: some(
        fc.array(
          fc
            .tuple(
              fc.constantFrom(...labelKeys),
              fc.option(fc.constantFrom(...labelValues), { nil: undefined }),
            )
            .chain(([key, value]) =>
              fc.constantFrom(
                ...(value === undefined ? [key, `!${key}`] : [`${key}=${value}`, `${key}!=${value}`]),
              ),
            ),
          { minLength: 1, maxLength: 4 },
        ),
      ),
      sort: fc.constantFrom(...sorts),
      pages: fc.option(fc.tuple(fc.nat({ max: 4 }), fc.integer({ min: 1, max: 100 })), { nil: undefined }),
    })
    await holdLaterFor(
      t,
      wishes,
      (wish) => ask(Object.fromEntries(Object.entries(wish).filter(([, value]) => value !== undefined))),
      CASES,
    )
  })

  it('equals the model for more records than a search holds', async () => {
    const many = Array.from({ length: SEARCH_RECORDS_MAX + 2_000 }, (_, i) =>
      draft(`${(i * 7919) % 12_007}-n`, {
        hostname: `h${i % 97}`,
        port: 1 + (i % 50),
        username: i < 20 ? 'few' : 'many',
        labels: i % 2 === 0 ? { even: '' } : { odd: String(i) },
      }),
    )
    const askMany = askerOf(many)
    const wishes = [undefined, '-name', 'hostname'].flatMap((sort) =>
      ([undefined, [119, 100], [1, 7], [10 ** 15, 100]] as const).flatMap((pages) =>
        [
          { q: 'N' },
          { q: 'FEW' },
          { hostname: 'h3' },
          { username: 'many' },
          { labels: ['even'], q: 'few' },
          { labels: ['even='] },
          { prefix: '1' },
          { q: '-', username: 'many' },
        ].map((filter): Wish => ({ ...filter, sort, pages })),
      ),
    )
    // Some of them, or all: with an odd distance, each sort, each pages and each filter has its turn.
    const distance = casesOfSlow(1, 5) === 1 ? 5 : 1
    for (let i = 0; i < wishes.length; i += distance) await askMany(wishes[i] ?? {})
  })

  it('refuses any text that is not a port', async (t) => {
    const text = fc.oneof(joined(['0', '1', '22', '65535', '.', 'e', '-', '+', ' ', 'x'], shortName, 4))
    await holdLaterFor(t, text, async (port) => {
      const isPort = /^[1-9][0-9]*$/.test(port) && Number(port) <= 65_535
      const faults = await faultsOf(ask({ port }))
      assert.deepEqual(faults, isPort ? [] : ['port'])
    })
  })
})

/** Asks for a list and compares the answer with the model. */
function askerOf(drafts: readonly NewConfiguration[]) {
  const scheduler = new Scheduler()
  const { list } = configurationHandlers(loadStore(drafts, scheduler), '/base', scheduler)
  const records = drafts.map(({ labels, ...fields }, i) => {
    const hasLabels = labels !== undefined && Object.keys(labels).length > 0
    return { id: i + 1, ...fields, ...(hasLabels ? { labels } : {}) }
  })
  return async ({ sort, pages, labels = [], ...filter }: Wish) => {
    const parameters: [string, string][] = Object.entries(filter)
    for (const label of labels) parameters.push(['label', label])
    if (sort !== undefined) parameters.push(['sort', sort])
    const others = parameters.map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    const query = pages === undefined ? others : [...others, `page=${pages[0]}`, `per_page=${pages[1]}`]
    const reply = await list(requestOf({}, '', query.join('&')))

    const kept = records.filter((record) => isKept(record, filter) && areLabelsKept(record, labels))
    const field = fields.find((one) => sort === one || sort === `-${one}`)
    if (field !== undefined) {
      const direction = sort === field ? 1 : -1
      kept.sort((a, b) =>
        a[field] === b[field] ? a.id - b.id : a[field] < b[field] ? -direction : direction,
      )
    }
    const expected = pages === undefined ? kept : kept.slice(pages[0] * pages[1], (pages[0] + 1) * pages[1])
    assert.equal(reply.status, 200)
    assert.equal(reply.headers['X-Total-Count'], String(kept.length))
    assert.deepEqual(
      (JSON.parse(bodyOf(reply)) as { configurations: unknown }).configurations,
      expected,
      query.join('&'),
    )
    const last = /<([^>]*)>; rel="last"/.exec(reply.headers.Link ?? '')?.[1]
    if (pages === undefined) assert.equal(last, undefined)
    else {
      const page = Math.max(0, Math.ceil(kept.length / pages[1]) - 1)
      assert.deepEqual(
        [...new URL(last ?? '', 'http://h').searchParams].toSorted(),
        [...parameters, ['page', String(page)], ['per_page', String(pages[1])]].toSorted(),
      )
    }
  }
}

function isKept(record: NewConfiguration, { q, prefix, port, ...equal }: Wish): boolean {
  const { name, hostname, username, labels = {} } = record
  const words = (q ?? '').toLowerCase().split(/\s/u)
  const texts = [name, hostname, username, ...Object.values(labels)]
  return (
    words.every((word) => texts.some((value) => value.toLowerCase().includes(word))) &&
    name.startsWith(prefix ?? '') &&
    (port === undefined || record.port === Number(port)) &&
    (equal.name ?? name) === name &&
    (equal.hostname ?? hostname) === hostname &&
    (equal.username ?? username) === username
  )
}

function areLabelsKept({ labels = {} }: NewConfiguration, wanted: readonly string[]): boolean {
  // All filters that keep this record: each has the form of a label that it has, or lacks.
  const has = Object.entries(labels).flatMap(([key, value]) => {
    const members = key === 'group' ? value.split(',').map((member) => member.trim()) : []
    return [key, `${key}=${value}`, ...members.filter(Boolean).map((member) => `${key}=${member}`)]
  })
  const isWithout = (label: string) => /^(?:!|[^=]*!=)/.test(label)
  const keys = new Set(wanted.filter((label) => !isWithout(label)).map((label) => label.split('=')[0]))
  return (
    wanted.filter(isWithout).every((label) => !has.includes(label.replace('!', ''))) &&
    [...keys].every((key) =>
      wanted.some((label) => !isWithout(label) && label.split('=')[0] === key && has.includes(label)),
    )
  )
}

/** The parameters that were refused. */
async function faultsOf(asked: Promise<unknown>): Promise<string[]> {
  try {
    await asked
    return []
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error
    return error.faults.map(({ field }) => field)
  }
}
