import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { pathOf } from '../support/api.ts'
import { type Answer, createClient, faultyFields, type Headers, recordsIn } from '../support/http-client.ts'
import { start } from '../support/service.ts'

const fields = { hostname: 'db.example.com', port: 5432, username: 'app' }

describe('PUT of a configuration', async () => {
  const service = await start({ after })
  const ask = createClient(service.url, { Authorization: await service.bearer() })
  const put = (name: string, body: unknown = fields, headers: Headers = {}) =>
    ask('PUT', pathOf(name), { headers, body })
  const revision = async () => (await ask('GET', '/configurations/')).headers.etag
  const idOf = (answer: Answer) => recordsIn(answer)[0]?.id

  it('adds a record that is not there: 201 with its Location', async () => {
    const answer = await put('new one')
    assert.deepEqual([answer.status, answer.reason], [201, 'Created'])
    assert.equal(answer.headers.location, '/configurations/new%20one')
    assert.equal(answer.headers['content-type'], 'application/json; charset=utf-8')
    assert.equal(answer.headers['cache-control'], 'no-cache, private')
    const got = await ask('GET', pathOf('new one'))
    assert.equal(got.text, answer.text)
    assert.equal(got.headers.etag, answer.headers.etag)
    const { id: _, ...stored } = recordsIn(got)[0] ?? assert.fail()
    assert.deepEqual(stored, { name: 'new one', ...fields })
  })

  it('replaces the fields of a record that is there: 200, with the same id', async () => {
    const added = await put('replaced')
    const answer = await put('replaced', { name: 'replaced', hostname: '::1', port: 1, username: 'u' })
    assert.deepEqual([answer.status, answer.headers.location], [200, undefined])
    assert.equal(idOf(answer), idOf(added))
    assert.notEqual(answer.headers.etag, added.headers.etag)
    assert.equal((await ask('GET', pathOf('replaced'))).text, answer.text)
  })

  it('of what is there already changes nothing', async () => {
    const added = await put('same')
    const before = await revision()
    for (const body of [fields, { name: 'same', ...fields }, { ...fields, id: 99 }]) {
      const answer = await put('same', body)
      assert.deepEqual([answer.status, answer.text], [200, added.text])
      assert.equal(answer.headers.etag, added.headers.etag)
    }
    assert.equal(await revision(), before)
  })

  it('has exactly the labels that are given, or none', async () => {
    const labels = { env: 'prod', 'ssh.proxyjump': 'bastion' }
    const added = await put('labelled', { ...fields, labels: { 'ssh.proxyjump': 'bastion', env: 'prod' } })
    assert.equal(added.status, 201)
    assert.ok(added.text.includes(`"labels":${JSON.stringify(labels)}}`), added.text)
    const before = await revision()
    for (const same of [labels, { 'ssh.proxyjump': 'bastion', env: 'prod' }]) {
      const answer = await put('labelled', { ...fields, labels: same })
      assert.deepEqual([answer.status, answer.text], [200, added.text])
    }
    assert.equal(await revision(), before)

    const fewer = await put('labelled', { ...fields, labels: { env: '' } })
    assert.deepEqual(recordsIn(fewer)[0], {
      id: idOf(added),
      name: 'labelled',
      ...fields,
      labels: { env: '' },
    })
    const without = await put('labelled')
    assert.deepEqual(
      [without.status, recordsIn(without)[0]],
      [200, { id: idOf(added), name: 'labelled', ...fields }],
    )
    const none = await revision()
    const empty = await put('labelled', { ...fields, labels: {} })
    assert.deepEqual([empty.status, empty.text], [200, without.text])
    assert.equal(await revision(), none)
  })

  it('takes a record as it was read', async () => {
    const added = await put('a/b %41 ü')
    const [record] = recordsIn(await ask('GET', pathOf('a/b %41 ü')))
    const answer = await put('a/b %41 ü', record)
    assert.deepEqual([answer.status, answer.text], [200, added.text])
  })

  const faults: [what: string, name: string, body: unknown, at: string[]][] = [
    ['another name', 'refused', { name: 'other', ...fields }, ['name']],
    ['a name that is no text', 'refused', { name: null, ...fields }, ['name']],
    ['missing fields', 'refused', { port: 1 }, ['hostname', 'username']],
    ['no field', 'refused', {}, ['hostname', 'port', 'username']],
    ['an unknown field', 'refused', { ...fields, password: 'x' }, ['password']],
    ['null for a field', 'refused', { ...fields, username: null }, ['username']],
    ['no labels', 'refused', { ...fields, labels: null }, ['labels']],
    ['null for a label', 'refused', { ...fields, labels: { env: null } }, ['labels.env']],
    ['several faults', 'refused', { name: 'x', ...fields, port: 0, a: 1 }, ['name', 'port', 'a']],
    ['a name in the path that no record can have', 'a\nb', fields, ['name']],
    ['a name in the path that is too long', 'x'.repeat(256), { name: 'x'.repeat(256), ...fields }, ['name']],
  ]
  for (const [what, name, body, at] of faults) {
    it(`refuses ${what}, and changes nothing`, async () => {
      const before = await revision()
      const answer = await put(name, body)
      assert.equal(answer.status, 400)
      assert.deepEqual(faultyFields(answer), at)
      assert.equal(await revision(), before)
    })
  }

  it('refuses ".", "..", which no URL can carry, and the list', async () => {
    for (const path of ['/configurations/%2e', '/configurations/%2E%2e']) {
      assert.deepEqual(faultyFields(await ask('PUT', path, { body: fields })), ['name'], path)
    }
    assert.equal((await ask('PUT', '/configurations/', { body: fields })).status, 405)
  })

  it('with If-None-Match: * only adds', async () => {
    const headers = { 'If-None-Match': '*' }
    assert.equal((await put('made once', fields, headers)).status, 201)
    const before = await revision()
    for (const body of [fields, { ...fields, port: 1 }]) {
      const answer = await put('made once', body, headers)
      assert.deepEqual(
        [answer.status, answer.json<{ type: string }>().type],
        [412, 'urn:connbook:problem:stale_record'],
      )
    }
    assert.equal(await revision(), before)
  })

  it('with If-Match only replaces the record that was read', async () => {
    const { headers: read } = await put('guarded')
    const stale = { 'If-Match': read.etag ?? '' }
    const changed = await put('guarded', { ...fields, port: 1 }, stale)
    assert.equal(changed.status, 200)
    const before = await revision()
    for (const headers of [stale, { 'If-Match': `W/${changed.headers.etag}` }]) {
      assert.equal((await put('guarded', fields, headers)).status, 412)
    }
    for (const tag of [read.etag ?? '', '*']) {
      assert.equal((await put('not there', fields, { 'If-Match': tag })).status, 412, tag)
    }
    assert.equal(await revision(), before)
    assert.equal((await put('guarded', fields, { 'If-Match': '*' })).status, 200)
  })

  it('with a tag in If-None-Match refuses to replace that record, and adds one that is not there', async () => {
    const { headers } = await put('tagged')
    assert.equal((await put('tagged', fields, { 'If-None-Match': headers.etag ?? '' })).status, 412)
    assert.equal((await put('tagged', fields, { 'If-None-Match': '"x"' })).status, 200)
    assert.equal((await put('tagged too', fields, { 'If-None-Match': '"x"' })).status, 201)
    assert.equal((await put('neither', fields, { 'If-None-Match': '*', 'If-Match': '*' })).status, 412)
  })

  it('of one new name by several callers adds one record', async () => {
    const answers = await Promise.all([1, 2, 3, 4].map((port) => put('race', { ...fields, port })))
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 200, 200, 201])
    assert.equal(new Set(answers.map(idOf)).size, 1)
    const once = await Promise.all(
      [1, 2, 3].map((port) => put('race once', { ...fields, port }, { 'If-None-Match': '*' })),
    )
    assert.deepEqual(once.map(({ status }) => status).sort(), [201, 412, 412])
    const won = once.find(({ status }) => status === 201)
    assert.equal((await ask('GET', pathOf('race once'))).text, won?.text)
  })

  it('among adds, deletes and renames of the same name never meets a clash', async () => {
    const body = { name: 'contested', ...fields }
    const calls = Array.from({ length: 40 }, (_, i): Promise<Answer> => {
      if (i % 4 === 0) return put('contested', { ...fields, port: i + 1 })
      if (i % 4 === 1) return ask('POST', '/configurations/', { body })
      if (i % 4 === 2) return ask('DELETE', pathOf('contested'))
      return ask('PATCH', pathOf('contested'), { body: { name: `moved ${i}` } })
    })
    const answers = await Promise.all(calls)
    for (const [i, { status }] of answers.entries()) {
      const allowed =
        [
          [200, 201],
          [200, 409],
          [209, 404],
          [200, 404],
        ][i % 4] ?? []
      assert.ok(allowed.includes(status), `${i % 4}: ${status}`)
    }
    const ids = recordsIn(await ask('GET', '/configurations/')).map(({ id }) => id)
    assert.equal(new Set(ids).size, ids.length)
  })
})
