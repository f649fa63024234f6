import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import * as fc from 'fast-check'
import { InvalidInputError } from '../../src/errors.ts'
import { configurationHandlers } from '../../src/resources/configurations.ts'
import { Scheduler } from '../../src/scheduler.ts'
import { requestOf } from '../support/message.ts'
import { holdFor } from '../support/properties/hold-property.ts'
import { anySpellings, encodePercent, type Spelling } from '../support/properties/percent-encoding.ts'
import { escapes, expectedPairs } from '../support/properties/reference-form.ts'
import { anyText, joined, treacherousNames } from '../support/properties/texts.ts'
import { draft, openStore, someone } from '../support/store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const sortFields = ['name', 'hostname', 'port', 'username'] as const
/** They have properties of their own. */
const filters: readonly string[] = ['q', 'prefix', ...sortFields, 'label']
const sorts = sortFields.flatMap((field) => [field, `-${field}`])

describe('the query of the list', async () => {
  const { store } = await openStore({ after }, await temporaryFolder({ after }))
  const drafts = [
    draft('b', { hostname: 'h2', port: 9, username: 'x' }),
    draft('B', { hostname: 'h1', port: 10, username: 'x' }),
    draft('\uff61', { hostname: 'h3', port: 80, username: 'Y' }),
    draft('a', { hostname: 'h2', port: 9, username: 'y' }),
    draft('\u{1f600}', { hostname: 'h1', port: 8080, username: 'X' }),
    draft('__proto__', { hostname: 'h1', port: 9, username: '' }),
    draft('aa', { hostname: 'H', port: 1, username: 'x' }),
  ]
  for (const each of drafts) await store.add(someone, each)
  const { list } = configurationHandlers(store, '/base', new Scheduler())

  /** The records and `Link` of an answer, or the faulty parameters. */
  function ask(query: string): { names: string[]; link: string | undefined } | { faults: string[] } {
    try {
      const reply = list(requestOf({}, '', query))
      assert.ok(!(reply instanceof Promise) && typeof reply.body === 'string')
      assert.equal(reply.status, 200)
      assert.equal(reply.headers['X-Total-Count'], String(drafts.length))
      const { configurations } = JSON.parse(reply.body) as { configurations: { name: string }[] }
      return { names: configurations.map(({ name }) => name), link: reply.headers.Link }
    } catch (error) {
      if (!(error instanceof InvalidInputError)) throw error
      return { faults: error.faults.map(({ field }) => field) }
    }
  }

  function expectedNames(
    sort: string | undefined,
    page: number | undefined,
    perPage: number | undefined,
  ): string[] {
    const isFalling = sort?.startsWith('-') ?? false
    const field = sortFields.find((each) => sort?.endsWith(each) && sort.length <= each.length + 1)
    const byField = drafts.map((each, index) => ({ ...each, index }))
    if (field !== undefined) {
      byField.sort((a, b) => {
        const order = a[field] < b[field] ? -1 : a[field] > b[field] ? 1 : 0
        return (isFalling ? -order : order) || a.index - b.index
      })
    }
    const names = byField.map(({ name }) => name)
    if (page === undefined || perPage === undefined) return names
    return names.filter((_, i) => Math.floor(i / perPage) === page)
  }

  const page = fc.oneof(fc.nat({ max: 9 }), fc.constantFrom(Number.MAX_SAFE_INTEGER, 2 ** 32))
  const wishes = fc.record({
    sort: fc.option(fc.constantFrom(...sorts), { nil: undefined }),
    pages: fc.option(fc.tuple(page, fc.integer({ min: 1, max: 100 })), { nil: undefined }),
  })
  interface Wish {
    readonly sort: string | undefined
    readonly pages: readonly [page: number, perPage: number] | undefined
  }
  const parametersOf = ({ sort, pages }: Wish): [string, string][] => {
    const parameters: [string, string][] = []
    if (sort !== undefined) parameters.push(['sort', sort])
    if (pages !== undefined) parameters.push(['page', String(pages[0])], ['per_page', String(pages[1])])
    return parameters
  }
  const write = (parameters: readonly (readonly [string, string])[], spellings: readonly Spelling[]) =>
    parameters.map((pair) => pair.map((part) => encodePercent(part, spellings)).join('=')).join('&')
  const asked = wishes.chain((wish) => {
    const parameters = parametersOf(wish)
    return fc.record({
      wish: fc.constant(wish),
      parameters: fc.shuffledSubarray(parameters, { minLength: parameters.length }),
      spellings: anySpellings,
    })
  })

  it('returns the records in the requested order and page, for any order and encoding of its parameters', (t) => {
    holdFor(t, asked, ({ wish: { sort, pages }, parameters, spellings }) => {
      const found = ask(write(parameters, spellings))
      assert.ok('names' in found)
      assert.deepEqual(found.names, expectedNames(sort, pages?.[0], pages?.[1]))
      assert.equal(found.link !== undefined, pages !== undefined)
      for (const [, target = ''] of (found.link ?? '').matchAll(/<\/base\/configurations\/\?([^>]*)>/g)) {
        const linked = new URLSearchParams(target)
        assert.equal(linked.get('sort') ?? undefined, sort)
        assert.equal(linked.get('per_page'), String(pages?.[1]))
        assert.ok('names' in ask(target))
      }
    })
  })

  it('with one invalid parameter is refused with its name', (t) => {
    const badNumbers = [
      '',
      '-1',
      '+1',
      ' 1',
      '01',
      '1.0',
      '1e1',
      '0x1',
      'a',
      '\u0663',
      '9007199254740992',
      '99999999999999999999',
      '1\n',
      'NaN',
      'Infinity',
      '1_0',
    ]
    const spoils: Record<string, { spoil: (pairs: [string, string][]) => [string, string][]; at: string[] }> =
      {
        'no page': { spoil: (pairs) => pairs.filter(([name]) => name !== 'page'), at: ['page'] },
        'no per_page': { spoil: (pairs) => pairs.filter(([name]) => name !== 'per_page'), at: ['per_page'] },
        'per_page 0': { spoil: (pairs) => put(pairs, 'per_page', '0'), at: ['per_page'] },
        'per_page 101': { spoil: (pairs) => put(pairs, 'per_page', '101'), at: ['per_page'] },
        'an empty parameter': { spoil: (pairs) => [...pairs, ['', '']], at: [''] },
      }
    for (const bad of badNumbers) {
      spoils[`page ${bad}`] = { spoil: (pairs) => put(pairs, 'page', bad), at: ['page'] }
      spoils[`per_page ${bad}`] = { spoil: (pairs) => put(pairs, 'per_page', bad), at: ['per_page'] }
    }
    for (const bad of ['', 'id', 'Name', '--name', 'name-', '-', 'name,port', ' name', ...treacherousNames]) {
      spoils[`sort ${bad}`] = { spoil: (pairs) => put(pairs, 'sort', bad), at: ['sort'] }
    }
    for (const name of ['sort', 'page', 'per_page']) {
      spoils[`${name} twice`] = {
        spoil: (pairs) => [...pairs, ...pairs.filter((pair) => pair[0] === name)],
        at: [name],
      }
    }
    for (const name of ['order', 'Sort', 'perpage', 'per-page', 'page ', ...treacherousNames]) {
      spoils[`unknown ${name}`] = { spoil: (pairs) => [...pairs, [name, '1']], at: [name] }
    }
    function put(pairs: [string, string][], name: string, value: string): [string, string][] {
      return pairs.map((pair) => (pair[0] === name ? [name, value] : pair))
    }
    const full = fc.record({
      wish: fc.record({
        sort: fc.constantFrom(...sorts),
        pages: fc.tuple(page, fc.integer({ min: 1, max: 100 })),
      }),
      what: fc.constantFrom(...Object.keys(spoils)),
      spellings: anySpellings,
      turn: fc.nat(),
    })
    holdFor(t, full, ({ wish, what, spellings, turn }) => {
      const { spoil, at } = spoils[what] ?? assert.fail(what)
      const spoilt = spoil(parametersOf(wish))
      const start = turn % spoilt.length
      const query = write([...spoilt.slice(start), ...spoilt.slice(0, start)], spellings)
      assert.deepEqual(ask(query), { faults: at }, query)
    })
  })

  it('of any text is answered, or refused with the name of each faulty parameter', (t) => {
    const pieces = [
      'sort=',
      'page=',
      'per_page=',
      'sort',
      'page',
      '&',
      '&',
      '=',
      '0',
      '1',
      '10',
      '101',
      'name',
      '-port',
      'x',
      '+',
      ...escapes,
    ]
    holdFor(t, joined(pieces, anyText, 10), (query) => {
      const pairs = expectedPairs(query)
      if (pairs?.some(([name]) => filters.includes(name))) return
      const found = ask(query)
      if (pairs === undefined) {
        assert.deepEqual(found, { faults: [] })
        return
      }
      const valuesOf = (name: string) => pairs.filter((pair) => pair[0] === name).map(([, value]) => value)
      const faults = new Set(
        pairs.map(([name]) => name).filter((name) => !['sort', 'page', 'per_page'].includes(name)),
      )
      const [sort, ...sortsMore] = valuesOf('sort')
      const [pageText, ...pagesMore] = valuesOf('page')
      const [perPage, ...perPagesMore] = valuesOf('per_page')
      const isCount = (text: string, min: number, max: number) =>
        text.split('').every((digit) => '0123456789'.includes(digit)) &&
        String(BigInt(text || '-1')) === text &&
        BigInt(text) >= BigInt(min) &&
        BigInt(text) <= BigInt(max)
      // A repeated name is faulty, whatever its values.
      const judge = (name: string, values: string[], isGood: (text: string) => boolean) => {
        if (values.length > 1 || values.some((value) => !isGood(value))) faults.add(name)
      }
      judge('sort', [sort ?? 'name', ...sortsMore], (text) => sorts.includes(text))
      judge('page', [pageText ?? '0', ...pagesMore], (text) => isCount(text, 0, Number.MAX_SAFE_INTEGER))
      judge('per_page', [perPage ?? '1', ...perPagesMore], (text) => isCount(text, 1, 100))
      if (pageText === undefined && perPage !== undefined) faults.add('page')
      if (perPage === undefined && pageText !== undefined) faults.add('per_page')
      if (faults.size > 0) {
        assert.ok('faults' in found, query)
        assert.deepEqual([...new Set(found.faults)].sort(), [...faults].sort(), query)
        return
      }
      assert.ok('names' in found, query)
      const number = (text: string | undefined) => (text === undefined ? undefined : Number(text))
      assert.deepEqual(found.names, expectedNames(sort, number(pageText), number(perPage)))
    })
  })
})
