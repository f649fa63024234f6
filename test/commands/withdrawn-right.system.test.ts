import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import { describe, it, type TestContext } from 'node:test'
import { getToken } from '../support/api.ts'
import { eventually } from '../support/eventually.ts'
import { runExecutable, startExecutable } from '../support/executable.ts'
import { createClient } from '../support/http-client.ts'
import { client, usedFolder } from '../support/service.ts'
import { draft } from '../support/store.ts'

/** Sends the head and half of the body, and resolves once the server waits for the rest. */
async function sendHalf(method: string, url: string, headers: Record<string, string>, body: string) {
  const half = body.length / 2
  const type = { 'Content-Type': 'application/json', 'Content-Length': body.length, Expect: '100-continue' }
  const sent = request(url, { method, headers: { ...headers, ...type } })
  sent.flushHeaders()
  await once(sent, 'continue')
  sent.write(body.slice(0, half))
  return async () => {
    sent.end(body.slice(half))
    const [answer] = await once(sent, 'response')
    answer.resume()
    return [answer.statusCode, /error="\w+"/.exec(answer.headers['www-authenticate'])?.[0]]
  }
}

async function setUp(t: TestContext) {
  const folder = await usedFolder(t)
  const { url } = await startExecutable(t, ['--data', folder])
  const headers = await getToken(url, client)
  const ask = createClient(url, headers)
  await ask('POST', '/configurations/', { body: draft('here') })
  const records = async () => (await ask('GET', '/configurations/')).text
  const run = async (...words: string[]) => {
    const { code, stderr } = await runExecutable([...words, '--data', folder])
    // It warns that nobody but the user can change records.
    assert.equal(code, 0, stderr)
  }
  return { url, headers, ask, records, run }
}

describe('a right that a command withdraws from a running server', () => {
  it('changes nothing more from the moment in which the command has returned', async (t) => {
    const { url, headers, ask, records, run } = await setUp(t)
    const whole = JSON.stringify([draft('imported')])
    const ends = [
      await sendHalf('POST', `${url}/configurations/`, headers, JSON.stringify(draft('added'))),
      await sendHalf('PATCH', `${url}/configurations/here`, headers, '{"port":1}'),
      await sendHalf('PUT', `${url}/configurations/put`, headers, JSON.stringify(draft('put'))),
      await sendHalf('POST', `${url}/v1/import?mode=replace`, headers, whole),
    ]
    const before = await records()
    await run('client', 'set', client.client_id, '--read-only')
    const refused = [403, 'error="insufficient_scope"']
    // The server may not have taken it up on its own yet.
    assert.equal((await ask('DELETE', '/configurations/here')).status, 403)
    for (const end of ends) assert.deepEqual(await end(), refused)
    assert.equal(await records(), before)

    await run('client', 'set', client.client_id, '--read-write')
    const isBack = async () =>
      (await ask('PATCH', '/configurations/here', { body: { port: 2 } })).status === 200
    await eventually('the right is back', isBack)
  })

  it('changes nothing more when its account is removed, or the keys are revoked', async (t) => {
    for (const command of [
      ['client', 'remove', client.client_id],
      ['keys', 'revoke-all'],
    ]) {
      const { url, headers, ask, run } = await setUp(t)
      const end = await sendHalf('PATCH', `${url}/configurations/here`, headers, '{"port":1}')
      await run(...command)
      assert.equal((await ask('DELETE', '/configurations/here')).status, 403)
      assert.deepEqual(await end(), [403, 'error="invalid_token"'])
    }
  })
})
