import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { exportFormatNames } from '../../src/exchange/export-formats.ts'
import { unsuffixed } from '../../src/http/header-fields.ts'
import type { Reply, Request } from '../../src/http/message.ts'
import { configurationHandlers } from '../../src/resources/configurations.ts'
import { exportHandlers } from '../../src/resources/export.ts'
import { labelCountHandlers } from '../../src/resources/label-counts.ts'
import { Scheduler } from '../../src/scheduler.ts'
import { accessOf } from '../../src/store/access.ts'
import { Configuration } from '../../src/store/configuration.ts'
import type { ConfigurationStore } from '../../src/store/configuration-store.ts'
import { parseGrants } from '../../src/store/grants.ts'
import { loadStore } from '../support/loaded-store.ts'
import { bodyOf, requestOf } from '../support/message.ts'
import { draft } from '../support/store.ts'

/** Records of two teams, which are hops of each other, and would clash in some exports. */
const records = Array.from({ length: 60 }, (_, i) => {
  const team = i % 3 === 0 ? 'a' : 'b'
  const labels = {
    ...(i % 5 === 0 ? {} : { team }),
    ...(i % 4 === 0 ? { group: `${team},all` } : {}),
    ...(i % 7 === 0 ? { 'ssh.proxyjump': `${i % 2 === 0 ? 'a' : 'b'}/${(i + 11) % 60}` } : {}),
    ...(team === 'b' ? { secret: 'x' } : {}),
  }
  return new Configuration(
    i + 1,
    draft(`${team}/${i}`, {
      hostname: `host${i % 9}`,
      port: 1 + (i % 4),
      ...(i % 6 === 1 ? {} : { labels }),
    }),
  )
})

const limits = [
  ['read?prefix=a%2F'],
  ['write?prefix=b%2F', 'read?label=team=a'],
  ['read?label=team=b&label=group'],
  ['read?label=!secret'],
  ['read?prefix=none'],
  ['read', 'write?prefix=a'],
]

const queries = [
  ...['', 'sort=name', 'sort=-name', 'sort=port', 'page=0&per_page=4', 'page=1&per_page=4&sort=name'],
  ...['prefix=a', 'prefix=a%2F1&sort=-name', 'prefix=b%2F', 'q=host1', 'name=a%2F0', 'name=b%2F1', 'port=2'],
  ...['hostname=host3&sort=hostname', 'label=team=a', 'label=!team&page=0&per_page=2&sort=-port'],
  ...['id=1,2,3,4', 'page=90&per_page=3', 'q=a&page=1&per_page=2'],
]

type Ask = (query: string) => Reply | Promise<Reply>

function readsOf(store: ConfigurationStore, scheduler: Scheduler, grants?: readonly string[]) {
  const asked = (query: string): Request => {
    const request = { ...requestOf({}, '', query), method: 'GET' }
    const scope = 'read' as const
    return grants === undefined
      ? request
      : { ...request, principal: { kind: 'user', name: 'limited', scope, grants } }
  }
  const { list, get } = configurationHandlers(store, '', scheduler)
  const labels = labelCountHandlers(store, scheduler)
  const { exportAll } = exportHandlers(store, scheduler)
  return {
    list: (query: string) => list(asked(query)),
    labels: (query: string) => labels.list(asked(query)),
    export: (query: string) => exportAll(asked(query)),
    get: async (name: string) => get(asked(''), name),
  }
}

/** What the caller gets of a reply, but for its tag. */
async function shownOf(ask: Ask, query: string) {
  try {
    const reply = await ask(query)
    const { ETag, 'Content-Length': _, ...headers } = reply.headers
    return { status: reply.status, headers, body: bodyOf(reply), ETag }
  } catch (error) {
    assert.ok(error instanceof Error)
    return { message: error.message, ETag: undefined }
  }
}

describe('an account with grants reads', () => {
  for (const limit of limits) {
    it(`as if there were no other records: ${limit.join(' ')}`, async () => {
      const grants = parseGrants(limit)
      const access = accessOf({ principal: { grants } })
      const scheduler = new Scheduler()
      const full = loadStore(records, scheduler)
      const seen = records.filter((record) => access?.sees(record))
      const limited = readsOf(full, scheduler, grants)
      const unlimited = readsOf(full, scheduler)
      const expected = readsOf(loadStore(seen, scheduler), scheduler)
      const compare = async (read: 'list' | 'labels' | 'export', query: string) => {
        // The second one finds parts that are remembered.
        for (let asked = 1; asked <= 2; asked++) {
          const [{ ETag: all }, { ETag, ...is }, { ETag: __, ...shall }] = (await Promise.all(
            [unlimited, limited, expected].map((reads) => shownOf(reads[read], query)),
          )) as [
            Awaited<ReturnType<typeof shownOf>>,
            Awaited<ReturnType<typeof shownOf>>,
            Awaited<ReturnType<typeof shownOf>>,
          ]
          assert.deepEqual(is, shall, `${read} ${query}`)
          if (all !== undefined && ETag !== undefined) assert.notEqual(ETag, all)
        }
      }
      for (const query of queries) {
        await compare('list', query)
        if (!/sort|page/.test(query)) await compare('labels', query)
      }
      for (const format of exportFormatNames)
        for (const more of ['', '&skip=1', '&prefix=a', '&label=group=all'])
          await compare('export', `format=${format}${more}`)
      for (const { name } of records) {
        const [is, shall] = await Promise.all([limited, expected].map((reads) => shownOf(reads.get, name)))
        assert.deepEqual(is, shall, name)
      }
    })
  }

  it('with another tag than others, which fits nothing of theirs', async () => {
    const scheduler = new Scheduler()
    const store = loadStore(records, scheduler)
    const tags = await Promise.all(
      [undefined, ['read'], ['write'], ['read?prefix=a']].map(async (grants) => {
        const reads = readsOf(store, scheduler, grants)
        const answers = [reads.list(''), reads.list('port=2'), reads.labels(''), reads.export('format=json')]
        const all = (await Promise.all(answers)).map(({ headers }) => unsuffixed(headers.ETag ?? ''))
        assert.equal(new Set(all).size, 1)
        return all[0]
      }),
    )
    assert.equal(new Set(tags).size, 4)
  })
})
