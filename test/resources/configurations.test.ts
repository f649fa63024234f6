import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { createClient, faultyFields, namesIn, recordsIn, type ShownRecord } from '../support/http-client.ts'
import { parseAnswers, sendRaw } from '../support/raw-http.ts'
import { start } from '../support/service.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const fields = { hostname: 'db.example.com', port: 5432, username: 'app' }
const collection = '/configurations/'
const pathOf = (name: string) => collection + encodeURIComponent(name)

describe('configurations', async () => {
  const service = await start({ after })
  const bearer = await service.bearer()
  const ask = createClient(service.url, { Authorization: bearer })
  const add = async (name: string) => {
    const answer = await ask('POST', collection, { body: { name, ...fields } })
    assert.equal(answer.status, 200, answer.text)
    return answer
  }

  it('are added with an id, and found at their Location', async () => {
    const answer = await ask('POST', collection, {
      body: { username: 'app', port: 22.0, name: 'one', hostname: '::1' },
    })
    assert.equal(answer.status, 200)
    assert.equal(
      answer.text,
      '{"configurations":[{"id":1,"name":"one","hostname":"::1","port":22,"username":"app"}]}',
    )
    assert.equal(answer.headers['content-type'], 'application/json; charset=utf-8')
    assert.equal(answer.headers['content-length'], String(answer.text.length))
    assert.equal(answer.headers['cache-control'], 'no-cache, private')
    assert.equal(answer.headers.location, '/configurations/one')
    const got = await ask('GET', '/configurations/one')
    assert.deepEqual([got.status, got.text], [200, answer.text])
    assert.equal(got.headers['content-type'], 'application/json; charset=utf-8')
    assert.equal(got.headers['cache-control'], 'no-cache, private')
    assert.equal(got.headers.etag, answer.headers.etag)
  })

  const names = [
    'a/b',
    '/',
    '//',
    '%',
    '%41',
    '100%',
    '?',
    'a?b=c',
    '#',
    ' ',
    ' a ',
    'a b',
    '+',
    '&=;',
    '\'"\\',
    '...',
    '.a',
    '__proto__',
    'constructor',
    'toString',
    'é',
    'e\u0301',
    '名前',
    '😀',
    '\u2028',
    '\u202e',
    '\ufeff',
    '😀'.repeat(255),
    'x'.repeat(255),
  ]
  for (const name of names) {
    it(`keep the name ${JSON.stringify(name.slice(0, 20))} through every operation`, async () => {
      const { headers } = await add(name)
      const path = pathOf(name)
      assert.equal(headers.location, path)
      assert.deepEqual(namesIn(await ask('GET', path)), [name])
      assert.deepEqual(namesIn(await ask('PATCH', path, { body: { name: `${name.slice(2)}-`, port: 1 } })), [
        `${name.slice(2)}-`,
      ])
      assert.equal((await ask('GET', path)).status, 404)
      assert.deepEqual(namesIn(await ask('PATCH', pathOf(`${name.slice(2)}-`), { body: { name } })), [name])
      assert.deepEqual(namesIn(await ask('POST', collection, { body: { name, ...fields } })), [name])
      assert.equal((await ask('DELETE', path)).status, 209)
      assert.equal((await ask('DELETE', path)).status, 404)
    })
  }

  it('have distinct names when case or Unicode form differs', async () => {
    const spellings = ['Name', 'name', '\u00e5', 'a\u030a', '\u212b']
    for (const name of spellings) await add(name)
    for (const name of spellings) assert.deepEqual(namesIn(await ask('GET', pathOf(name))), [name])
    for (const name of spellings) await ask('DELETE', pathOf(name))
  })

  it('are found by any equivalent encoding of the name', async () => {
    await add('a~b')
    for (const path of [
      '/configurations/a~b',
      '/configurations/a%7eb',
      '/configurations/%61%7E%62',
      '/configurations/a~b?x=1&x=%',
    ]) {
      assert.deepEqual(namesIn(await ask('GET', path)), ['a~b'], path)
    }
    for (const path of [
      '/configurations/a%257Eb',
      '/%63onfigurations/a~b',
      '/configurations/a~b/',
      '/configurations//a~b',
      '/configurations/./a~b',
    ]) {
      assert.equal((await ask('GET', path)).status, 404, path)
    }
  })

  it('are 400 at a path that is not percent-encoded UTF-8, and 404 at an unknown name', async () => {
    for (const name of ['%', '%4', '%zz', '%ff', '%c3', '%c0%af', '%ed%a0%80', '%f5%80%80%80']) {
      for (const method of ['GET', 'HEAD', 'PATCH', 'DELETE', 'OPTIONS']) {
        assert.equal((await ask(method, collection + name, { body: {} })).status, 400, `${method} ${name}`)
      }
    }
    for (const name of ['none', '.', '..', '%2e%2e', '%00', '%0a', 'x'.repeat(1000)]) {
      for (const method of ['GET', 'PATCH', 'DELETE']) {
        const answer = await ask(method, collection + name, { body: {} })
        assert.equal(answer.status, 404, `${method} ${name}`)
        assert.equal(answer.headers['content-type'], 'application/problem+json')
      }
    }
  })

  describe('that are refused', () => {
    const good = { name: 'refused', ...fields }
    const rows: [what: string, body: unknown, fields: string[]][] = [
      ['nothing given', {}, ['name', 'hostname', 'port', 'username']],
      ['one left out', { ...good, username: undefined }, ['username']],
      ['a null', { ...good, hostname: null }, ['hostname']],
      [
        'all null',
        { name: null, hostname: null, port: null, username: null },
        ['name', 'hostname', 'port', 'username'],
      ],
      ['a port as text', { ...good, port: '22' }, ['port']],
      [
        'all empty',
        { name: '', hostname: '', port: 0, username: '' },
        ['name', 'hostname', 'port', 'username'],
      ],
      ['a name that no URL can carry', { ...good, name: '..' }, ['name']],
      ['control characters', { ...good, name: 'a\u0085', username: 'a\nb' }, ['name', 'username']],
      ['too long', { ...good, name: 'x'.repeat(256), username: '😀'.repeat(256) }, ['name', 'username']],
      [
        'a lone surrogate',
        `{"name":"\\ud800","hostname":"h","port":1,"username":"\\udc00"}`,
        ['name', 'username'],
      ],
      ['unknown members', { ...good, hostnmae: 'x', Port: 1 }, ['hostnmae', 'Port']],
      [
        'a prototype',
        `{"__proto__":${JSON.stringify(good)}}`,
        ['name', 'hostname', 'port', 'username', '__proto__'],
      ],
    ]
    for (const [what, body, faulty] of rows) {
      it(`${what}: 400 that names ${faulty.join(', ')}`, async () => {
        const answer = await ask('POST', collection, { body })
        assert.equal(answer.status, 400)
        assert.deepEqual(faultyFields(answer), faulty)
      })
    }

    it('are not stored', async () => assert.equal((await ask('GET', '/configurations/refused')).status, 404))
  })

  describe('on PATCH', () => {
    it('change the given members and keep the others and the id', async () => {
      const [record] = recordsIn(await add('patched'))
      assert.ok(record)
      const steps: Partial<ShownRecord>[] = [
        {},
        { port: 1 },
        { hostname: 'other', username: 'sa' },
        { ...record, id: 999, name: 'renamed' },
      ]
      let path = '/configurations/patched'
      let expected = record
      for (const body of steps) {
        const answer = await ask('PATCH', path, { body })
        assert.equal(answer.status, 200, answer.text)
        expected = { ...expected, ...body, id: record.id }
        assert.equal(answer.text, JSON.stringify({ configurations: [expected] }))
        assert.equal(answer.headers['cache-control'], 'no-cache, private')
        path = pathOf(expected.name)
        const got = await ask('GET', path)
        assert.deepEqual([got.text, got.headers.etag], [answer.text, answer.headers.etag])
      }
    })

    it('are refused and unchanged when a member is wrong, null or unknown', async () => {
      const before = (await add('kept')).text
      const bodies = [
        { port: null },
        { name: '' },
        { port: '1' },
        { hostname: 'a b' },
        { usrname: 'x' },
        { port: 1, name: null },
      ]
      for (const body of bodies) {
        const answer = await ask('PATCH', '/configurations/kept', { body })
        assert.equal(answer.status, 400)
        assert.equal(faultyFields(answer).length, 1)
      }
      assert.equal((await ask('GET', '/configurations/kept')).text, before)
    })

    it('may be renamed to their own name', async () => {
      await add('self')
      assert.equal((await ask('PATCH', '/configurations/self', { body: { name: 'self' } })).status, 200)
    })
  })

  it('with a taken name are 409 with the record that holds it, on add and on rename', async () => {
    const holder = (await add('holder')).text
    await add('rival')
    const answers = [
      await ask('POST', collection, { body: { name: 'holder', hostname: 'x', port: 1, username: 'x' } }),
      await ask('PATCH', '/configurations/rival', { body: { name: 'holder', port: 1 } }),
    ]
    for (const answer of answers) {
      assert.deepEqual([answer.status, answer.text], [409, holder])
      assert.equal(answer.headers['content-type'], 'application/json; charset=utf-8')
      assert.equal(answer.headers['cache-control'], 'no-cache, private')
    }
    assert.equal(recordsIn(await ask('GET', '/configurations/rival'))[0]?.port, fields.port)
  })

  it('are added once when two concurrent adds have the same name', async () => {
    const body = { name: 'race', ...fields }
    const answers = await Promise.all(Array.from({ length: 8 }, () => ask('POST', collection, { body })))
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, ...Array<number>(7).fill(409)])
    assert.equal(new Set(answers.map(({ text }) => text)).size, 1)
  })

  it('are deleted with 209 Deleted and an empty body', async () => {
    await add('gone')
    const head = `DELETE /configurations/gone HTTP/1.1\r\nHost: a\r\nAuthorization: ${bearer}\r\nConnection: close\r\n\r\n`
    const received = await sendRaw(service.url, head)
    assert.match(received, /^HTTP\/1\.1 209 Deleted\r\n/)
    assert.match(received, /\r\nContent-Length: 0\r\n/)
    assert.match(received, /\r\nCache-Control: no-cache, private\r\n/)
    assert.ok(received.endsWith('\r\n\r\n'))
    assert.deepEqual(
      parseAnswers(await sendRaw(service.url, head)).map(({ status }) => status),
      [404],
    )
  })

  it('ignore an unexpected body', async () => {
    await add('bare')
    const parts = { headers: { 'Content-Type': 'image/png', 'Content-Encoding': 'gzip' }, body: '{{{' }
    assert.equal((await ask('GET', '/configurations/bare', parts)).status, 200)
    assert.equal((await ask('DELETE', '/configurations/bare', parts)).status, 209)
  })
})

describe('ids', () => {
  it('rise and are never reused, not even after a delete and a restart', async (t) => {
    const folder = await temporaryFolder(t)
    const given: number[] = []
    for (let run = 0; run < 2; run++) {
      const service = await start(t, { folder })
      const ask = createClient(service.url, { Authorization: await service.bearer() })
      for (const name of ['a', 'b', 'c']) {
        const answer = await ask('POST', collection, { body: { id: 1, name, ...fields } })
        given.push(...recordsIn(answer).map(({ id }) => id))
        assert.equal((await ask('DELETE', pathOf(name))).status, 209)
      }
      await service.stop()
    }
    assert.ok(
      given.every((id, i) => Number.isInteger(id) && id > (given[i - 1] ?? 0)),
      given.join(),
    )
  })
})
