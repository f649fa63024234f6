import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { createClient, ownHeaders, recordsIn } from '../support/http-client.ts'
import { parseAnswers, sendRaw } from '../support/raw-http.ts'
import { start } from '../support/service.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const list = '/configurations/'
const record = (name: string) => ({ name, hostname: 'h', port: 1, username: 'u' })

describe('entity tags', async () => {
  const service = await start({ after })
  const bearer = await service.bearer()
  const ask = createClient(service.url, { Authorization: bearer })
  const add = async (name: string) => (await ask('POST', list, { body: record(name) })).headers.etag ?? ''
  const etagOf = async (path: string) => (await ask('GET', path)).headers.etag ?? ''

  it('are strong, on lists, records and the answers to add and modify', async () => {
    const added = await ask('POST', list, { body: record('strong') })
    const modified = await ask('PATCH', `${list}strong`, { body: { port: 2 } })
    const answers = [added, modified, await ask('GET', list), await ask('GET', `${list}strong`)]
    for (const { headers } of answers) assert.match(headers.etag ?? '', /^"[\x21\x23-\x7e]+"$/)
    assert.notEqual(added.headers.etag, modified.headers.etag)
    assert.equal(modified.headers.etag, answers[3]?.headers.etag)
  })

  it('of a record change exactly when the record changes', async () => {
    const first = await add('exact')
    await add('another')
    await ask('PATCH', `${list}exact`, { body: {} })
    await ask('PATCH', `${list}exact`, { body: record('exact') })
    assert.equal(await etagOf(`${list}exact`), first)
    const seen = new Set([first])
    for (const body of [{ hostname: 'i' }, { port: 2 }, { username: 'v' }, { name: 'moved' }]) {
      const { headers } = await ask('PATCH', `${list}exact`, { body })
      seen.add(headers.etag ?? '')
    }
    assert.equal(seen.size, 5)
    await ask('PATCH', `${list}moved`, { body: record('exact') })
    assert.equal(await etagOf(`${list}exact`), first)
  })

  it('of a list change with any change of the records', async () => {
    const seen = [await etagOf(list)]
    for (const [method, path, body] of [
      ['POST', list, record('listed')],
      ['PATCH', `${list}listed`, { port: 9 }],
      ['DELETE', `${list}listed`, undefined],
    ] as const) {
      await ask(method, path, { body })
      seen.push(await etagOf(list))
    }
    assert.equal(new Set(seen).size, 4)
  })

  it('give 304 with the headers of the 200', async () => {
    await add('kept')
    for (const path of [
      list,
      '/configurations',
      `${list}?sort=-name`,
      `${list}?page=0&per_page=1`,
      `${list}kept`,
    ]) {
      const got = await ask('GET', path)
      const { 'content-type': _, 'content-length': __, ...expected } = got.headers
      for (const method of ['GET', 'HEAD']) {
        for (const tag of [got.headers.etag, `W/${got.headers.etag}`, `"x", ${got.headers.etag}`, '*']) {
          const answer = await ask(method, path, { headers: { 'If-None-Match': tag ?? '' } })
          assert.deepEqual([answer.status, answer.text], [304, ''], `${method} ${path} ${tag}`)
          assert.deepEqual(ownHeaders(answer), ownHeaders({ headers: expected }))
        }
        for (const tag of ['"x"', '""', '', got.headers.etag?.slice(1, -1) ?? '']) {
          assert.equal((await ask(method, path, { headers: { 'If-None-Match': tag } })).status, 200, tag)
        }
      }
    }
    assert.equal((await ask('GET', `${list}none`, { headers: { 'If-None-Match': '*' } })).status, 404)
  })

  it('allow a change only with the tag of the current record', async () => {
    const stale = await add('guarded')
    const path = `${list}guarded`
    await ask('PATCH', path, { body: { port: 2 } })
    const fresh = await etagOf(path)
    for (const tag of [stale, `W/${fresh}`, '"x"', await etagOf(list)]) {
      const headers = { 'If-Match': tag }
      for (const answer of [
        await ask('PATCH', path, { headers, body: { port: 3 } }),
        await ask('PATCH', path, { headers, body: {} }),
        await ask('DELETE', path, { headers }),
      ]) {
        assert.equal(answer.status, 412, tag)
        assert.equal(answer.headers['content-type'], 'application/problem+json')
      }
    }
    assert.equal(await etagOf(path), fresh)
    const modified = await ask('PATCH', path, {
      headers: { 'If-Match': `${stale}, ${fresh}` },
      body: { port: 3 },
    })
    assert.equal(modified.status, 200)
    assert.equal((await ask('PATCH', path, { headers: { 'If-Match': '*' }, body: {} })).status, 200)
    const { etag = '' } = modified.headers
    assert.equal((await ask('DELETE', path, { headers: { 'If-Match': etag } })).status, 209)
    assert.equal((await ask('DELETE', path, { headers: { 'If-Match': '*' } })).status, 404)
  })

  it('that are not understood refuse a change, and do not matter to a read or an add', async () => {
    const etag = await add('refused')
    const path = `${list}refused`
    const bare = etag.slice(1, -1)
    const fields = [
      ['If-None-Match', bare],
      ['If-None-Match', ''],
      ['If-Match', ''],
      ['If-Match', `xx${etag}yy`],
      ['If-Match', `${etag}, *`],
    ] as const
    for (const [name, value] of fields) {
      const headers = { [name]: value }
      for (const answer of [
        await ask('PATCH', path, { headers, body: { port: 3 } }),
        await ask('PUT', path, { headers, body: record('refused') }),
        await ask('PUT', `${list}not-there`, { headers, body: record('not-there') }),
        await ask('DELETE', path, { headers }),
        await ask('DELETE', `${list}not-there`, { headers }),
      ]) {
        const { type, detail } = answer.json<{ type: string; detail: string }>()
        assert.deepEqual([answer.status, type], [400, 'urn:connbook:problem:malformed_condition'], value)
        assert.ok(detail.includes(`${name}: "`), detail)
      }
      for (const read of [path, list, '/openapi.json', '/v1/history/refused'])
        assert.equal((await ask('GET', read, { headers })).status, 200, read)
      assert.equal((await ask('POST', list, { headers, body: record('refused') })).status, 409)
    }
    assert.equal(await etagOf(path), etag)
    assert.equal((await ask('GET', `${list}not-there`)).status, 404)
  })

  it('on several lines count together', async () => {
    const etag = await add('joined')
    const path = `${list}joined`
    const send = async (method: string, ...lines: string[]) => {
      const head = [`${method} ${path} HTTP/1.1`, 'Host: a', `Authorization: ${bearer}`, ...lines]
      const body = '{"port":2,"hostname":"h","username":"u"}'
      const bytes = `${head.join('\r\n')}\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`
      return parseAnswers(await sendRaw(service.url, bytes))[0]?.status
    }
    for (const method of ['PUT', 'PATCH', 'DELETE']) {
      assert.equal(await send(method, 'If-None-Match: "x"', 'If-None-Match: *'), 400, method)
      assert.equal(await send(method, 'If-None-Match: *', 'if-none-match: "x"'), 400, method)
      assert.equal(await send(method, 'If-Match: *', 'If-Match: *'), 400, method)
      assert.equal(await send(method, `If-Match: ${etag}`, 'If-Match: x'), 400, method)
      assert.equal(await send(method, 'If-Match:', 'If-Match:'), 400, method)
      assert.equal(await send(method, 'If-None-Match: "x"', `If-None-Match: ${etag}`), 412, method)
      assert.equal(await send(method, 'If-Match: "x"', 'If-Match: "y"'), 412, method)
    }
    assert.equal(await send('PATCH', 'If-Match: "x"', 'If-Match:', `If-Match: ${etag}`), 200)
  })

  it('allow only one of many changes with the same tag', async () => {
    const headers = { 'If-Match': await add('race') }
    const ports = [11, 12, 13, 14]
    const answers = await Promise.all(
      ports.map((port) => ask('PATCH', `${list}race`, { headers, body: { port } })),
    )
    const won = answers.filter(({ status }) => status === 200)
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 412, 412, 412])
    assert.equal((await ask('GET', `${list}race`)).text, won[0]?.text)
  })
})

describe('entity tags after a restart', () => {
  it('are unchanged, for every caller', async (t) => {
    const folder = await temporaryFolder(t)
    const seen: (string | undefined)[][] = []
    for (let run = 0; run < 2; run++) {
      const service = await start(t, { folder })
      for (const headers of [{ Authorization: await service.bearer() }, { Cookie: await service.cookie() }]) {
        const ask = createClient(service.url, headers)
        if (recordsIn(await ask('GET', list)).length === 0) await ask('POST', list, { body: record('a') })
        const answers = [await ask('GET', list), await ask('GET', `${list}a`)]
        seen.push(answers.map(({ headers }) => headers.etag))
      }
      await service.stop()
    }
    for (const tags of seen) assert.deepEqual(tags, seen[0])
    assert.ok(seen[0]?.every((tag) => tag !== undefined))
  })
})
