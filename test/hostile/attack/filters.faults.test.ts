import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { FILTER_LABELS_MAX } from '../../../src/limits.ts'
import { createClient } from '../../support/http-client.ts'
import {
  type AttackedServer,
  addClient,
  MAX_MS_MAX,
  measure,
  P99_MS_MAX,
  REQUESTS,
  startAttacked,
} from './attacked-server.ts'
import type { Question, Tally } from './attacks.ts'
import { OtherCaller } from './other-caller.ts'

const RECORDS = 20_000
const IMPORTED = 5_000
/** As many members as the value of a label has room for, and filters that occur in it as text and are no member of it. */
const group = Array.from({ length: 127 }, () => 'z').join(',')
const oneMember = Array.from({ length: 28 }, () => 'abcdefgh').join(',')
const partsOfMember = Array.from({ length: 8 }, (_, from) =>
  Array.from({ length: 7 - from }, (_, more) => 'abcdefgh'.slice(from, from + more + 1)),
).flat()
const queryOf = (values: readonly string[]) =>
  values.map((value) => `label=${encodeURIComponent(`group=${value}`)}`).join('&')
const filters = {
  'lists of members': queryOf(Array.from({ length: FILTER_LABELS_MAX }, (_, i) => `z${',z'.repeat(i + 1)}`)),
  'parts of members': queryOf(partsOfMember.slice(0, FILTER_LABELS_MAX)),
}

function fieldsOf(id: number) {
  const labels = { group: id % 2 === 0 ? group : oneMember }
  return { name: `record-${id}`, hostname: `host-${id}.example`, port: 22, username: 'ops', labels }
}

const patch = JSON.stringify({ username: 'nobody' })

/** What one caller asks again and again. */
const questions: Record<string, (query: string) => Question> = {
  exports: (query) => ({ path: `/v1/export?format=csv&${query}` }),
  'tried changes': (query) => ({
    method: 'PATCH',
    path: `/configurations/?dry_run=1&${query}`,
    body: patch,
  }),
  'tried removals': (query) => ({ method: 'DELETE', path: `/configurations/?dry_run=1&${query}` }),
  labels: (query) => ({ path: `/v1/labels?${query}` }),
  lists: (query) => ({ path: `/configurations/?${query}` }),
}

async function attacked(t: TestContext) {
  const server = await startAttacked(t, { records: RECORDS, makeFields: fieldsOf })
  const caller = await OtherCaller.logIn(server.url, 'record-1')
  t.after(() => caller.close())
  assert.deepEqual((await caller.work(10)).failures, [])
  return { server, caller }
}

async function experience(
  t: TestContext,
  caller: OtherCaller,
  running: Awaited<ReturnType<AttackedServer['attack']>>,
) {
  const { failures, servedP99, max } = await measure(t, caller, REQUESTS, P99_MS_MAX)
  const tally: Tally = await running.stop()
  t.diagnostic(`the attack: ${JSON.stringify(tally)}`)
  assert.deepEqual(failures, [])
  assert.ok(servedP99 < P99_MS_MAX, `p99 is ${servedP99} ms`)
  assert.ok(max < MAX_MS_MAX, `the worst is ${max} ms`)
  return tally
}

for (const [kind, query] of Object.entries(filters))
  describe(`with filters that are ${kind} of a group, a caller does not notice another one with`, () => {
    for (const [what, questionOf] of Object.entries(questions))
      it(what, async (t) => {
        const { server, caller } = await attacked(t)
        const running = await server.attack('questions', 1, [questionOf(query)])
        const { 200: answered = 0 } = await experience(t, caller, running)
        assert.ok(answered > 0, 'this was no attack')
      })

    it('an event stream, while records are imported', async (t) => {
      const { server, caller } = await attacked(t)
      const asked = new AbortController()
      t.after(() => asked.abort())
      const headers = { Authorization: server.bearer }
      await fetch(`${server.url}/v1/events?${query}`, { headers, signal: asked.signal })
      const rows = Array.from({ length: IMPORTED }, (_, i) => ({ ...fieldsOf(i + 1), port: 23 }))
      const body = rows.map((row) => JSON.stringify(row)).join('\n')
      const other = body.replaceAll('"port":23', '"port":24')
      const path = '/v1/import?format=jsonl'
      const running = await server.attack('questions', 1, [
        { path, body },
        { path, body: other },
      ])
      const { 200: answered = 0 } = await experience(t, caller, running)
      assert.ok(answered > 0, 'this was no attack')
    })

    it('changes of nothing, by an account that may change nothing of it, and changes a record itself', async (t) => {
      const { server } = await attacked(t)
      const caller = await OtherCaller.asking(server.url, '/configurations/record-2', { changes: true })
      t.after(() => caller.close())
      const bearer = await addClient(server, { scope: 'write', grants: ['read', 'write?prefix=zz/'] })
      const question = { method: 'PATCH', path: `/configurations/?${query}`, body: patch }
      const running = await server.attack('questions', 1, [question], bearer)
      const { 200: answered = 0 } = await experience(t, caller, running)
      assert.ok(answered > 0, 'this was no attack')
    })
  })

it('the filters are right', async (t) => {
  const { server } = await attacked(t)
  const ask = createClient(server.url, { Authorization: server.bearer })
  for (const [query, count] of [
    ...Object.values(filters).map((each) => [each, '0'] as const),
    [queryOf(['z', 'x']), String(RECORDS / 2)] as const,
  ])
    assert.equal(
      (await ask('HEAD', `/configurations/?page=0&per_page=1&${query}`)).headers['x-total-count'],
      count,
    )
})
