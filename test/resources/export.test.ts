import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import type { ExportSummary } from '../../src/exchange/export.ts'
import { exportFormats } from '../../src/exchange/export-formats.ts'
import type { Reply, Request } from '../../src/http/message.ts'
import {
  ExportSummaries,
  exportHandlers,
  NOTING_EXPORTS_AT_ONCE_MAX,
  SUMMARY_KEPT_BYTES_MAX,
} from '../../src/resources/export.ts'
import { type LongWork, Scheduler } from '../../src/scheduler.ts'
import { getToken, pathOf } from '../support/api.ts'
import { eventually } from '../support/eventually.ts'
import { createClient } from '../support/http-client.ts'
import { loadStore } from '../support/loaded-store.ts'
import { requestOf } from '../support/message.ts'
import { formatRequest } from '../support/raw-http.ts'
import { client, start } from '../support/service.ts'
import { draft } from '../support/store.ts'

const RECORDS = 1100

const service = await start({ after }, { flags: ['--base-path', '/book'] })
const ask = createClient(service.url, await getToken(service.url, client))
const names = ['web 1', 'db/main', ...Array.from({ length: RECORDS - 2 }, (_, i) => `n${i}`)]
await ask('POST', '/v1/import?format=json', { body: names.map((name) => draft(name)) })

describe('GET /v1/export', () => {
  const files: Record<string, readonly [type: string, fileName: string]> = {
    json: ['application/json; charset=utf-8', 'configurations.json'],
    csv: ['text/csv; charset=utf-8; header=present', 'configurations.csv'],
    ansible: ['application/yaml; charset=utf-8', 'inventory.yml'],
    'ansible-json': ['application/json', 'inventory.json'],
    'prometheus-sd': ['application/json', 'targets.json'],
    'pg-service': ['text/plain; charset=utf-8', 'pg_service.conf'],
    env: ['text/plain; charset=utf-8', 'connbook.env'],
  }
  for (const [format, [type, fileName]] of Object.entries(files)) {
    it(`returns all records as ${format}, as a download`, async () => {
      const { status, headers, text } = await ask('GET', `/v1/export?format=${format}`)
      assert.equal(status, 200)
      assert.equal(headers['content-type'], type)
      assert.equal(headers['content-disposition'], `attachment; filename="${fileName}"`)
      assert.equal(headers['cache-control'], 'no-cache, private')
      assert.equal(headers['content-length'], String(Buffer.byteLength(text)))
      assert.deepEqual([headers['x-total-count'], headers['x-left-out']], [String(RECORDS), '0'])
      assert.ok(text.includes('host.example'))
    })
  }

  it('returns as json the same as the list', async () => {
    const list = await ask('GET', '/configurations/')
    assert.equal((await ask('GET', '/v1/export?format=json')).text, `${list.text}\n`)
  })

  it('answers HEAD the same way, without the body', async () => {
    const [get, head] = [
      await ask('GET', '/v1/export?format=csv'),
      await ask('HEAD', '/v1/export?format=csv'),
    ]
    assert.deepEqual([head.status, head.text], [200, ''])
    for (const name of ['content-type', 'content-length', 'content-disposition'])
      assert.equal(head.headers[name], get.headers[name])
  })

  it('returns no records, and names the obstacles, when the format cannot express a record', async () => {
    const { status, headers, json } = await ask('GET', '/v1/export?format=ssh-config')
    assert.deepEqual([status, headers['content-type']], [422, 'application/problem+json'])
    const problem = json<{ type: string; detail: string; errors: unknown }>()
    assert.equal(problem.type, 'urn:connbook:problem:not_expressible')
    assert.match(problem.detail, /^Cannot express 1 of 1100 records as ssh-config; .*skip=1$/)
    assert.deepEqual(problem.errors, [
      {
        field: 'name',
        name: 'web 1',
        detail: 'has a name with a space, a comma or a character of the shell, which ssh refuses',
      },
    ])
  })

  it('leaves such records out when allowed to, and reports how many', async () => {
    const { status, headers, text } = await ask('GET', '/v1/export?format=ssh-config&skip=1')
    assert.equal(status, 200)
    assert.deepEqual([headers['x-total-count'], headers['x-left-out']], [String(RECORDS - 1), '1'])
    assert.equal(headers['content-disposition'], 'attachment; filename="ssh_config"')
    assert.ok(!text.includes('web 1') && text.startsWith('Host '))
    assert.equal(text.match(/^Host /gm)?.length, RECORDS - 1)
  })

  const mustBeFormat =
    /^must be json, jsonl, csv, ssh-config, ansible, ansible-json, pg-service, prometheus-sd, hosts or env$/
  const queries: Record<string, [field: string, detail: RegExp]> = {
    '': ['format', mustBeFormat],
    '?skip=1': ['format', mustBeFormat],
    '?format=': ['format', mustBeFormat],
    '?format=xml': ['format', mustBeFormat],
    '?format=JSON': ['format', mustBeFormat],
    '?format=__proto__': ['format', mustBeFormat],
    '?format=constructor': ['format', mustBeFormat],
    '?format=csv&format=csv': ['format', /^is given twice$/],
    '?format=csv&skip=yes': ['skip', /^must be 0 or 1$/],
    '?format=csv&sort=name': ['sort', /^is not a parameter/],
    '?format=csv&lable=env': ['lable', /^is not a parameter/],
    '?format=csv&port=022': ['port', /plain decimal/],
    '?format=csv&label=A=b': ['label', /^the key "A" is not a label/],
    '?format=csv&constructor=1': ['constructor', /^is not a parameter/],
  }
  for (const [query, [field, detail]] of Object.entries(queries)) {
    it(`answers 400 to the query "${query}", and names the parameter`, async () => {
      const { status, json } = await ask('GET', `/v1/export${query}`)
      assert.equal(status, 400)
      const [fault] = json<{ errors: { field: string; detail: string }[] }>().errors
      assert.equal(fault?.field, field)
      assert.match(fault?.detail ?? '', detail)
    })
  }

  it('is of the records that filters keep, of which it counts and judges no others', async () => {
    const { status, headers, text } = await ask('GET', '/v1/export?format=ssh-config&prefix=n10&port=22')
    assert.equal(status, 200)
    const kept = names.filter((name) => name.startsWith('n10'))
    assert.deepEqual(
      [...text.matchAll(/^Host (.*)$/gm)].map(([, name]) => name),
      kept,
    )
    assert.deepEqual([headers['x-total-count'], headers['x-left-out']], [String(kept.length), '0'])
    assert.equal(headers['content-length'], String(Buffer.byteLength(text)))
    assert.equal((await ask('GET', '/v1/export?format=jsonl&q=WEB%201')).text.match(/\n/g)?.length, 1)
    const spaced = await ask('GET', '/v1/export?format=ssh-config&name=web%201')
    assert.match(spaced.json<{ detail: string }>().detail, /^Cannot express 1 of 1 record as ssh-config/)
    assert.equal((await ask('GET', '/v1/export?format=jsonl&prefix=nobody')).text, '')
  })

  it('is the same with filters that keep all', async () => {
    const all = await ask('GET', '/v1/export?format=jsonl')
    const filters = 'hostname=host.example&port=22&username=ops&q=example&label=nothing!=x'
    const kept = await ask('GET', `/v1/export?format=jsonl&${filters}`)
    assert.deepEqual([kept.status, kept.text], [all.status, all.text])
    assert.notEqual(all.text, '')
  })

  it('has the tag of the records, and is not sent again while they stay', async () => {
    const path = '/v1/export?format=csv&prefix=n1'
    const { headers } = await ask('GET', path)
    const { etag = '' } = headers
    const list = String((await ask('GET', '/configurations/')).headers.etag)
    assert.ok(etag.startsWith(`${list.slice(0, -1)}+csv-`), etag)
    const again = await ask('GET', path, { headers: { 'If-None-Match': etag } })
    assert.deepEqual([again.status, again.text, again.headers.etag], [304, '', etag])
    assert.equal((await ask('GET', path, { headers: { 'If-Match': '"other"' } })).status, 412)
    assert.equal((await ask('PATCH', pathOf('n9'), { body: { username: 'new' } })).status, 200)
    const changed = await ask('GET', path, { headers: { 'If-None-Match': etag } })
    assert.equal(changed.status, 200)
    assert.notEqual(changed.headers.etag, etag)
  })

  it('has another tag with another format or filter, which counts as that of the list wherever that does', async () => {
    const queries = [
      'format=csv',
      'format=jsonl',
      'format=csv&prefix=n1',
      'format=csv&skip=1',
      'format=csv&name=n1',
    ]
    const etags = await Promise.all(
      queries.map(async (query) => String((await ask('GET', `/v1/export?${query}`)).headers.etag)),
    )
    assert.equal(new Set(etags).size, queries.length)
    const [whole = '', other = ''] = etags
    const list = String((await ask('GET', '/configurations/')).headers.etag)
    const statusOf = async (path: string, headers: Record<string, string>) =>
      (await ask('HEAD', path, { headers })).status
    const exported = '/v1/export?format=csv'
    assert.equal(await statusOf(exported, { 'If-None-Match': other }), 200)
    assert.equal(await statusOf(exported, { 'If-None-Match': list }), 200)
    assert.equal(await statusOf(exported, { 'If-None-Match': `${other}, W/${whole}` }), 304)
    for (const tag of [list, whole, other]) {
      assert.equal(await statusOf(exported, { 'If-Match': tag }), 200)
      assert.equal(await statusOf('/configurations/', { 'If-Match': tag }), 200)
      assert.equal(await statusOf('/configurations/?prefix=n', { 'If-None-Match': tag }), 304)
      assert.equal(await statusOf(`/v1/events?since=${encodeURIComponent(tag.slice(1, -1))}`, {}), 200)
      const trial = '/v1/import?format=json&dry_run=1'
      assert.equal(
        (await ask('POST', trial, { headers: { 'If-Match': tag }, body: [draft('n1')] })).status,
        200,
      )
    }
    const stale = whole.replace(/-\d+\+/, '-0+')
    assert.equal(await statusOf(exported, { 'If-Match': stale }), 412)
  })

  it('warns in a header of what is to be known, 20 at most, and counts the rest', async (t) => {
    const other = await start(t)
    const askOther = createClient(other.url, await getToken(other.url, client))
    const body = Array.from({ length: 25 }, (_, i) =>
      draft(`w${i}`, { labels: { 'ssh.proxyjump': `gäte,lost${i}` } }),
    )
    const gate = draft('gäte', { hostname: '192.0.2.1', labels: { 'ssh.identityfile': '~/k', kind: 'vpn' } })
    await askOther('POST', '/v1/import?format=json', { body: [...body, gate] })
    const { headers, text } = await askOther('GET', '/v1/export?format=ssh-config')
    const warnings = String(headers['x-warning']).split(',').map(decodeURIComponent)
    assert.equal(warnings.length, 20)
    assert.deepEqual(warnings.slice(0, 2), [
      '"w0" goes through "gäte", whose ssh.identityfile is not used for that; so do 24 more records',
      '"w0" goes through "lost0", which is the name of no record that you see',
    ])
    assert.equal(headers['x-warning-count'], '26')
    assert.match(text, /\n {2}ProxyJump ops@192\.0\.2\.1:22,lost0\n/)
    const none = await askOther('GET', '/v1/export?format=csv')
    assert.deepEqual([none.headers['x-warning'], none.headers['x-warning-count']], [undefined, undefined])
  })

  it('is open to all who may read, and to nobody else', async () => {
    assert.equal((await createClient(service.url)('GET', '/v1/export?format=csv')).status, 403)
    const { headers } = await ask('OPTIONS', '/v1/export')
    assert.equal(headers.allow, 'GET, HEAD, OPTIONS')
    assert.equal((await ask('PUT', '/v1/export?format=csv')).status, 405)
  })

  it('is prepared once for all who ask before the next change, and anew after it', async () => {
    const texts = await Promise.all(
      [1, 2, 3].map(async () => (await ask('GET', '/v1/export?format=env')).text),
    )
    assert.equal(new Set(texts).size, 1)
    assert.equal((await ask('PATCH', pathOf('n8'), { body: { username: 'somebody.else' } })).status, 200)
    const { text, headers } = await ask('GET', '/v1/export?format=env')
    assert.match(text, /CONNBOOK_N8_USERNAME='?somebody\.else/)
    assert.equal(headers['content-length'], String(Buffer.byteLength(text)))
  })

  it('is not prepared for a client that has gone', async () => {
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1')
    const request = formatRequest('GET /book/v1/export?format=csv', await getToken(service.url, client))
    await new Promise<void>((resolve) => socket.write(request, () => resolve()))
    socket.resetAndDestroy()
    const gone = /connbook_http_requests_total\{route="\/v1\/export",method="GET",status="(200|499)"\}/
    await eventually('it is counted', async () => gone.test((await ask('GET', '/metrics')).text))
    assert.equal(
      service.log.lines.find((line) => line.includes('"level":"error"')),
      undefined,
    )
  })

  it('shows the records of one moment, even if they change while it is prepared', async () => {
    const [answer, removed] = await Promise.all([
      ask('GET', '/v1/export?format=csv'),
      ask('DELETE', pathOf('n7')),
    ])
    assert.deepEqual([answer.status, removed.status], [200, 209])
    const lines = answer.text.split('\r\n').length - 2
    assert.equal(String(lines), answer.headers['x-total-count'])
  })
})

describe('exports that note something of records', () => {
  /** Works begin, and end when the test says so. */
  class HeldScheduler extends Scheduler {
    readonly held: (() => void)[] = []
    isHolding = true
    override run<Result>(caller: string, work: LongWork<Result>): Promise<Result> {
      if (!this.isHolding) return super.run(caller, work)
      return new Promise((resolve) => this.held.push(() => resolve(super.run(caller, work))))
    }
  }
  const drafts = Array.from({ length: 100 }, (_, i) => draft(`a${i}`, { labels: { group: 'web' } }))
  const ask = (exportAll: (request: Request) => Promise<Reply>, query: string) =>
    exportAll(requestOf({}, '', query))

  it('are prepared two at once, by whomever, while others need not wait', async () => {
    const scheduler = new HeldScheduler()
    const { exportAll } = exportHandlers(loadStore(drafts, new Scheduler()), scheduler)
    const noting = ['a', 'b', 'c'].map((q) => ask(exportAll, `format=ansible-json&label=!${q}`))
    const plain = ask(exportAll, 'format=csv&label=!a')
    await setImmediate()
    assert.equal(scheduler.held.length, NOTING_EXPORTS_AT_ONCE_MAX + 1)
    scheduler.isHolding = false
    for (const end of scheduler.held) end()
    for (const { status } of await Promise.all([...noting, plain])) assert.equal(status, 200)
  })

  it('are refused with 507 when one has not enough memory for its notes', async () => {
    const { exportAll } = exportHandlers(loadStore(drafts, new Scheduler()), new Scheduler(), 2 * 1_000)
    await assert.rejects(ask(exportAll, 'format=ansible-json'), { code: 'answer_too_large' })
    assert.equal((await ask(exportAll, 'format=csv')).status, 200)
    assert.equal((await ask(exportAll, 'format=ansible-json&prefix=a1')).status, 200)
  })
})

const summary = (notedBytes: number): ExportSummary => ({
  bytes: 0,
  count: 0,
  leftOut: 0,
  form: exportFormats.ansible,
  matches: undefined,
  obstacles: [],
  warnings: [],
  warningCount: 0,
  clashes: new Set(),
  tail: undefined,
  notedBytes,
})

describe('the summaries of exports', () => {
  for (const notedBytes of [0, SUMMARY_KEPT_BYTES_MAX + 1]) {
    it(`are those of the newest revision, with ${notedBytes} bytes of notes`, () => {
      const summaries = new ExportSummaries()
      const [first, second, late, newer] = [1, 2, 3, 4].map(() => summary(notedBytes))
      assert.ok(first && second && late && newer)
      const [seven, eight] = [7, 8].map((revision) => ({ tag: `a-${revision}`, revision }))
      assert.ok(seven && eight)
      assert.equal(summaries.find('ansible', seven.tag), undefined)
      assert.equal(summaries.keep('ansible', seven, first), first)
      assert.equal(summaries.find('ansible', seven.tag), first)
      assert.equal(summaries.find('env', seven.tag), undefined)
      // Two were made at the same time.
      assert.equal(summaries.keep('ansible', seven, second), first)
      assert.equal(summaries.keep('ansible', eight, newer), newer)
      assert.equal(summaries.keep('ansible', seven, late), late)
      assert.equal(summaries.find('ansible', eight.tag), newer)
      assert.equal(summaries.find('ansible', seven.tag), undefined)
    })
  }
})
