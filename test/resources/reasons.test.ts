import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { IMPORT_AUDITED_RECORDS_MAX } from '../../src/limits.ts'
import { trailIn } from '../audit/trail.ts'
import { pathOf } from '../support/api.ts'
import { start, type TestService, usedFolder } from '../support/service.ts'
import { draft } from '../support/store.ts'

const WHY = 'Ticket 4711: "é", 50 %'

async function callerOf(service: TestService) {
  const headers = { Authorization: await service.bearer() }
  return (method: string, path: string, body?: unknown, reason?: string) =>
    service.call(path, {
      method,
      headers: { ...headers, ...(reason === undefined ? {} : { 'X-Reason': reason }) },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
}

interface Entry {
  readonly event: string
  readonly reason?: string
}

describe('X-Reason', () => {
  it('is kept with each kind of change, in trail and history, after a restart too', async (t) => {
    const folder = await usedFolder(t)
    const first = await start(t, { folder })
    const call = await callerOf(first)
    const why = encodeURIComponent(WHY)
    const path = '/configurations/'
    const done = [
      await call('POST', path, draft('a'), why),
      await call('PUT', pathOf('b'), draft('b'), why),
      await call('PATCH', pathOf('a'), { port: 23 }, why),
      await call('PATCH', pathOf('a'), { port: 24 }),
      await call('PATCH', pathOf('a'), { port: 25 }, ''),
      await call('POST', '/v1/import?format=jsonl', JSON.stringify(draft('c')), why),
      await call('PATCH', `${path}?name=c`, { port: 23 }, why),
      await call('DELETE', `${path}?name=c`, undefined, why),
      await call('DELETE', pathOf('b'), undefined, why),
    ]
    assert.deepEqual(
      done.map(({ status }) => status),
      [200, 201, 200, 200, 200, 200, 200, 200, 209],
    )
    const reasonsOf = async (one: typeof call) => {
      const { history } = (await (await one('GET', '/v1/history')).json()) as { history: Entry[] }
      return history.map(({ event, reason }) => [event.replace('configuration_', ''), reason])
    }
    const expected = [
      ['deleted', WHY],
      ['deleted', WHY],
      ['modified', WHY],
      ['added', WHY],
      ['modified', undefined],
      ['modified', undefined],
      ['modified', WHY],
      ['added', WHY],
      ['added', WHY],
    ]
    assert.deepEqual(await reasonsOf(call), expected)
    const { history } = (await (await call('GET', '/v1/history/a')).json()) as { history: Entry[] }
    assert.deepEqual(
      history.map(({ reason }) => reason),
      [undefined, undefined, WHY, WHY],
    )
    await first.stop()
    const many = (await trailIn(folder)).filter(({ event }) => String(event).startsWith('configurations_'))
    assert.deepEqual(
      many.map(({ reason }) => reason),
      [WHY, WHY, WHY],
    )
    assert.deepEqual(await reasonsOf(await callerOf(await start(t, { folder }))), expected)
  })

  it('is kept in a journal that an older connbook refuses', async (t) => {
    const folder = await usedFolder(t)
    const service = await start(t, { folder })
    await (await callerOf(service))('PUT', pathOf('a'), draft('a'), 'why')
    await service.stop()
    const [header = ''] = (await readFile(join(folder, 'journal.jsonl'), 'utf8')).split('\n')
    assert.match(header, /"journal":4[,}]/)
  })

  it('is in the entry of changes that are only counted', async (t) => {
    const call = await callerOf(await start(t))
    const rows = Array.from({ length: IMPORT_AUDITED_RECORDS_MAX + 1 }, (_, i) =>
      JSON.stringify(draft(`n${i}`)),
    )
    assert.equal((await call('POST', '/v1/import?format=jsonl', rows.join('\n'), 'move')).status, 200)
    const { history } = (await (await call('GET', '/v1/history')).json()) as { history: Entry[] }
    assert.deepEqual(
      history.map(({ event, reason }) => [event, reason]),
      [['configurations_imported', 'move']],
    )
  })

  it('is in the data of events', async (t) => {
    const service = await start(t)
    const call = await callerOf(service)
    const before = await call('GET', '/configurations/')
    const tag = before.headers.get('etag')?.replaceAll('"', '') ?? ''
    await call('POST', '/configurations/', draft('a'), encodeURIComponent(WHY))
    await call('PATCH', pathOf('a'), { port: 23 })
    const stream = await call('GET', `/v1/events?since=${tag}`)
    const data: { reason?: string }[] = []
    let text = ''
    for await (const piece of stream.body ?? []) {
      text += Buffer.from(piece).toString()
      data.length = 0
      for (const [, line = ''] of text.matchAll(/^data: (.*)\n/gm)) data.push(JSON.parse(line))
      if (data.length === 2) break
    }
    assert.deepEqual(
      data.map(({ reason }) => reason),
      [WHY, undefined],
    )
    assert.deepEqual(
      data.map((one) => Object.keys(one).at(-1)),
      ['reason', 'before'],
    )
  })

  it('that is not valid is refused before the record is looked at, and nothing changes', async (t) => {
    const call = await callerOf(await start(t))
    for (const bad of ['%', '%ff', 'a%0Ab', 'é', 'x'.repeat(256)]) {
      const answers = [
        await call('POST', '/configurations/', draft('a'), bad),
        await call('PUT', pathOf('a'), draft('a'), bad),
        await call('PATCH', pathOf('a'), { port: 1 }, bad),
        await call('DELETE', pathOf('a'), undefined, bad),
        await call('PATCH', '/configurations/?name=a', { port: 1 }, bad),
        await call('DELETE', '/configurations/?name=a', undefined, bad),
        await call('POST', '/v1/import?format=jsonl', JSON.stringify(draft('a')), bad),
      ]
      for (const answer of answers) {
        const { errors } = (await answer.json()) as { errors: { field: string }[] }
        assert.deepEqual([answer.status, errors.map(({ field }) => field)], [400, ['X-Reason']], bad)
      }
    }
    const list = await call('GET', '/configurations/', undefined, '%')
    assert.deepEqual([list.status, await list.json()], [200, { configurations: [] }])
    assert.equal((await call('POST', '/configurations/', draft('a'), 'x'.repeat(255))).status, 200)
  })
})
