import '../../support/node-version.ts'
import '../../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { getToken } from '../../support/api.ts'
import { folderWithReaders, readingClient } from '../../support/readers.ts'
import { start } from '../../support/service.ts'
import { openHome, web1 } from './client-home.ts'
import { problemOf, serveJson, serveOther } from './other-server.ts'

const fields = ['--hostname', 'h', '--port', '1', '--username', 'u']
/** Each makes one call at least. */
const calls = {
  ls: ['ls'],
  get: ['get', 'a'],
  add: ['add', 'a', ...fields],
  set: ['set', 'a', '--port', '1'],
  rm: ['rm', 'a'],
  ssh: ['ssh', '--print', 'a'],
  watch: ['watch'],
  history: ['history', 'a'],
  whoami: ['whoami'],
  export: ['export', '--format', 'csv'],
  import: ['import', '-', '--format', 'csv'],
}
const input = 'name,hostname,port,username\na,h,1,u\n'

/** Runs every call against a server. */
async function callAll(t: TestContext, url: string) {
  const { run } = await openHome(t, { CONNBOOK_SERVER: url, CONNBOOK_TOKEN: 'secret-token' })
  const ended: [name: string, Awaited<ReturnType<typeof run>>][] = []
  for (const [name, args] of Object.entries(calls)) ended.push([name, await run([...args], { input })])
  return ended
}

describe('what a server refuses', () => {
  const codes: [status: number, type: string, code: number][] = [
    [400, 'invalid_input', 2],
    [401, 'wrong_credentials', 5],
    [403, 'insufficient_scope', 5],
    [404, 'unknown_name', 3],
    [404, 'unknown_path', 1],
    [412, 'changed', 4],
    [413, 'too_long', 1],
    [429, 'too_many', 1],
    [500, 'bug', 1],
    [503, 'not_now', 1],
    [507, 'no_space', 1],
  ]
  for (const [status, type, code] of codes) {
    it(`is reported in its words on one line, with exit code ${code} for ${status} ${type}`, async (t) => {
      const problem = problemOf(status, type, 'It is\nnot\u202e so')
      const url = await serveJson(t, status, problem)
      const where = type === 'unknown_name' ? ` at ${url}` : ''
      for (const [name, finished] of await callAll(t, url))
        assert.deepEqual(
          finished,
          { code, stdout: '', stderr: `connbook: It is\\u000anot\\u202e so${where}\n` },
          name,
        )
    })
  }

  it('is reported for a change by a credential that may only read', async (t) => {
    const service = await start(t, { folder: await folderWithReaders(t) })
    const { Authorization } = await getToken(service.url, readingClient)
    const environment = {
      CONNBOOK_SERVER: service.url,
      CONNBOOK_TOKEN: Authorization.slice('Bearer '.length),
    }
    const { run } = await openHome(t, environment)
    assert.equal((await run(['ls'])).code, 0)
    for (const name of ['add', 'set', 'rm', 'import'] as const) {
      const { code, stderr } = await run(calls[name], { input })
      assert.equal(code, 5)
      assert.match(stderr, /^connbook: This credential is read-only; [^\n]+\n$/)
    }
  })

  it('is tried again after the time that it says', async (t) => {
    for (const status of [429, 503]) {
      let asked = 0
      const url = await serveOther(t, (_, response) => {
        asked += 1
        if (asked === 1) {
          response.writeHead(status, { 'Retry-After': '0' }).end()
          return
        }
        response.end(JSON.stringify({ configurations: [{ id: 1, ...web1 }] }))
      })
      const { run } = await openHome(t, { CONNBOOK_SERVER: url })
      const { code, stdout } = await run(['get', 'web1', '--field', 'name'])
      assert.deepEqual([code, stdout, asked], [0, 'web1\n', 2])
    }
  })

  it('is given up at once when it says to wait for longer than it is worth', async (t) => {
    let asked = 0
    const url = await serveOther(t, (_, response) => {
      asked += 1
      response.writeHead(429, { 'Retry-After': '31' })
      response.end(JSON.stringify(problemOf(429, 'too_many', 'Too many')))
    })
    const { run } = await openHome(t, { CONNBOOK_SERVER: url })
    assert.deepEqual(await run(['ls']), { code: 1, stdout: '', stderr: 'connbook: Too many\n' })
    assert.equal(asked, 1)
  })
})

describe('a server that is not connbook', () => {
  const html = '<!DOCTYPE html><title>Router</title>'
  const bodies: [what: string, status: number, body: string][] = [
    ['a page', 200, html],
    ['the page of a proxy', 502, html],
    ['nothing', 200, ''],
    ['an empty object', 200, '{}'],
    ['null', 200, 'null'],
    ['a list of other things', 200, '{"configurations":[1,[],"x"]}'],
    ['records of other types', 200, '{"configurations":[{"id":"1","name":1,"hostname":[],"port":"x"}]}'],
    ['an error of another form', 404, '{"error":{"message":1}}'],
    ['a conflict of another form', 409, '{"configurations":1}'],
  ]
  for (const [what, status, body] of bodies) {
    it(`is reported in one line when it answers ${what}`, async (t) => {
      const url = await serveOther(t, (_, response) => {
        response.writeHead(status, { ETag: '"x"', 'Content-Type': 'text/html' }).end(body)
      })
      for (const [name, { code, stdout, stderr }] of await callAll(t, url)) {
        assert.equal(code, status === 409 ? 4 : 1, `${name}: ${stderr}`)
        assert.equal(stdout, '')
        assert.match(stderr, /^connbook: [^\n]+\n$/)
        assert.doesNotMatch(stderr, /Error:|undefined|\[object/)
        assert.ok(stderr.includes(url) || name === 'watch', `${name}: ${stderr}`)
      }
    })
  }

  it('is not believed to have deleted a record', async (t) => {
    const url = await serveJson(t, 200, {})
    const { run } = await openHome(t, { CONNBOOK_SERVER: url })
    const { code, stderr } = await run(['rm', 'a'])
    assert.deepEqual(
      [code, stderr],
      [1, `connbook: ${url} does not say that it has deleted "a"; is it a connbook?\n`],
    )
  })

  it('is not followed to another place, and gives no credential there', async (t) => {
    const seen: string[] = []
    const elsewhere = await serveOther(t, (request, response) => {
      seen.push(request.url ?? '')
      response.end()
    })
    for (const status of [301, 302, 303, 307, 308]) {
      const url = await serveOther(t, (_, response) => {
        response.writeHead(status, { Location: `${elsewhere}/there` }).end()
      })
      for (const [name, { code, stderr }] of await callAll(t, url)) {
        assert.equal(code, 1, name)
        assert.ok(
          stderr.startsWith(`connbook: ${url} sends on to ${elsewhere}/there (${status}), `),
          `${name}: ${stderr}`,
        )
      }
      const { run } = await openHome(t)
      const login = await run(['login', url, '--user', 'eve'], { input: 'x' })
      assert.equal(login.code, 1)
    }
    assert.deepEqual(seen, [])
  })

  it('is reported with exit code 6 when it ends in the middle of an answer', async (t) => {
    const whole = JSON.stringify({ configurations: [{ id: 1, ...web1 }] })
    const url = await serveOther(t, (_, response) => {
      response.writeHead(200, { 'Content-Length': whole.length, 'Content-Type': 'text/csv', ETag: '"x"' })
      response.write(whole.slice(0, -3), () => response.destroy())
    })
    for (const [name, { code, stderr }] of await callAll(t, url)) {
      assert.equal(code, 6, `${name}: ${stderr}`)
      assert.match(stderr, /^connbook: [^\n]+did not finish its answer \(ECONNRESET\)[^\n]*\n$/, name)
    }
  })

  it('is reported when a list ends early, although the answer seems whole', async (t) => {
    const url = await serveOther(t, (_, response) => {
      response.end(`{"configurations":[${JSON.stringify({ id: 1, ...web1 })},`)
    })
    const { run } = await openHome(t, { CONNBOOK_SERVER: url })
    const { code, stdout, stderr } = await run(['ls', '--names'])
    assert.deepEqual([code, stdout], [6, 'web1\n'])
    assert.match(stderr, /^connbook: The list of [^\n]+ is not complete: the answer ended too early\n$/)
  })
})

describe('a server that is not there', () => {
  it('is reported in one line, with exit code 6', async (t) => {
    const service = await start(t)
    await service.stop()
    for (const [name, { code, stdout, stderr }] of await callAll(t, service.url))
      assert.deepEqual(
        [code, stdout, stderr],
        [6, '', `connbook: Cannot connect to ${service.url} (ECONNREFUSED)\n`],
        name,
      )
  })
})
