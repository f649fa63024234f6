import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { eventually } from '../support/eventually.ts'
import { createClient, recordsIn } from '../support/http-client.ts'
import { start } from '../support/service.ts'
import { draft } from '../support/store.ts'

const collection = '/configurations/'

describe('labels over HTTP', async () => {
  const service = await start({ after })
  const ask = createClient(service.url, { Authorization: await service.bearer() })
  const add = async (name: string, labels: unknown) => {
    const answer = await ask('POST', collection, { body: { ...draft(name), labels } })
    assert.equal(answer.status, 200, answer.text)
    return answer
  }
  const patch = (name: string, labels: unknown, headers = {}) =>
    ask('PATCH', collection + name, { body: { labels }, headers })

  it('stand last in every answer, sorted, and change the entity tag', async () => {
    const added = await add('sorted', { group: 'web', constructor: '', env: 'prod' })
    assert.match(
      added.text,
      /"username":"ops","labels":\{"constructor":"","env":"prod","group":"web"\}\}\]\}$/,
    )
    const got = await ask('GET', `${collection}sorted`)
    assert.equal(got.text, added.text)
    const list = await ask('GET', collection)
    assert.ok(list.text.includes(JSON.stringify(recordsIn(added)[0])))
    assert.equal(list.headers['content-length'], String(Buffer.byteLength(list.text)))
    const changed = await patch('sorted', { env: 'test' })
    assert.notEqual(changed.headers.etag, added.headers.etag)
    assert.equal((await patch('sorted', { env: 'prod' })).headers.etag, added.headers.etag)
  })

  it('are merged by PATCH, removed by null, and kept without labels', async () => {
    await add('merged', { env: 'prod', group: 'web' })
    const labelsOf = async (labels: unknown) => recordsIn(await patch('merged', labels))[0]?.labels
    assert.deepEqual(await labelsOf({ env: 'test', 'ssh.proxyjump': 'bastion' }), {
      env: 'test',
      group: 'web',
      'ssh.proxyjump': 'bastion',
    })
    assert.deepEqual(await labelsOf({ group: null, 'ssh.proxyjump': null, unknown: null }), { env: 'test' })
    const port = await ask('PATCH', `${collection}merged`, { body: { port: 1 } })
    assert.deepEqual(recordsIn(port)[0]?.labels, { env: 'test' })
    const last = await patch('merged', { env: null })
    assert.ok(!last.text.includes('labels'), last.text)
  })

  it('write nothing when they stay as they are', async () => {
    await add('same', { env: 'prod' })
    const { headers } = await ask('GET', collection)
    for (const labels of [{}, { env: 'prod' }, { absent: null }])
      assert.equal((await patch('same', labels)).status, 200)
    assert.equal((await ask('GET', collection)).headers.etag, headers.etag)
  })

  it('are checked against If-Match, and refused with one fault per label', async () => {
    const { headers } = await add('guarded', { env: 'prod' })
    const stale = { 'If-Match': headers.etag ?? '' }
    assert.equal((await patch('guarded', { env: 'test' }, stale)).status, 200)
    assert.equal((await patch('guarded', { env: 'prod' }, stale)).status, 412)
    const refused = await patch('guarded', { env: 1, Group: 'x', ok: 'x' })
    assert.equal(refused.status, 400)
    const { errors } = JSON.parse(refused.text)
    assert.deepEqual(
      errors.map(({ field }: { field: string }) => field),
      ['labels.env', 'labels.Group'],
    )
    assert.equal((await patch('guarded', null)).status, 400)
    const tooMany = Object.fromEntries(Array.from({ length: 32 }, (_, i) => [`k${i}`, '']))
    const merged = await patch('guarded', tooMany)
    assert.deepEqual(
      [merged.status, JSON.parse(merged.text).errors],
      [400, [{ field: 'labels', detail: 'must be at most 32; these are 33' }]],
    )
    assert.deepEqual(recordsIn(await ask('GET', `${collection}guarded`))[0]?.labels, { env: 'test' })
  })

  it('change in an import only as far as its file can say', async () => {
    const before = { env: 'prod', 'ssh.proxyjump': 'old', 'ssh.identityfile': 'old', 'ssh.other': 'x' }
    await add('imported', before)
    const send = async (type: string, body: string) => {
      const answer = await ask('POST', '/v1/import', { body, headers: { 'Content-Type': type } })
      assert.equal(answer.status, 200, answer.text)
      return recordsIn(await ask('GET', `${collection}imported`))[0]?.labels
    }
    const csv = (header: string, cell: string) =>
      send('text/csv', `name,hostname,port,username${header}\nimported,host.example,22,ops${cell}\n`)
    const json = (more: object) =>
      send('application/json', JSON.stringify([{ ...draft('imported'), ...more }]))
    assert.deepEqual(await csv('', ''), before)
    assert.deepEqual(await json({}), before)
    const ssh = 'Host imported\n  HostName host.example\n  User ops\n  ProxyJump new\n'
    assert.deepEqual(await send('text/plain', ssh), { ...before, 'ssh.proxyjump': 'new' })
    assert.deepEqual(await csv(',labels', ',a=1'), { a: '1' })
    assert.deepEqual(await json({ labels: { b: '2' } }), { b: '2' })
    assert.equal(await csv(',labels', ','), undefined)
  })

  it('are refused in an import that would make too many, with line and name of the record', async () => {
    await add('full', Object.fromEntries(Array.from({ length: 32 }, (_, i) => [`k${i}`, ''])))
    const { headers } = await ask('GET', collection)
    const body = 'Host first full\n  User x\n  ProxyJump a\n'
    for (const query of ['', '?dry_run=1']) {
      const refused = await ask('POST', `/v1/import${query}`, {
        body,
        headers: { 'Content-Type': 'text/plain' },
      })
      assert.deepEqual(
        [refused.status, JSON.parse(refused.text).errors],
        [400, [{ line: 1, field: 'labels', detail: 'must be at most 32; these are 33', name: 'full' }]],
      )
    }
    assert.equal((await ask('GET', collection)).headers.etag, headers.etag)
  })

  it('are in the audit trail, each change by its key', async () => {
    await add('audited', { env: 'prod', group: 'web' })
    await ask('PATCH', `${collection}audited`, {
      body: { port: 23, labels: { env: null, group: 'db', x: '' } },
    })
    await eventually('the change is listed', async () => {
      const trail = await readFile(join(service.folder.path, 'audit.jsonl'), 'utf8')
      assert.ok(trail.includes('"username":"ops","labels":{"env":"prod","group":"web"}}}'), trail)
      return trail.includes(
        '"changed":{"port":{"before":22,"after":23},"labels.env":{"before":"prod","after":null},' +
          '"labels.group":{"before":"web","after":"db"},"labels.x":{"before":null,"after":""}}',
      )
    })
  })
})
