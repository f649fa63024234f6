import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { getToken, logIn } from '../support/api.ts'
import { readEvents } from '../support/event-reader.ts'
import { eventually } from '../support/eventually.ts'
import { type Ask, createClient, namesIn } from '../support/http-client.ts'
import { admin, start } from '../support/service.ts'
import { draft } from '../support/store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { missingEtcd, startEtcd } from './support/etcd.ts'

/** Two nodes on one etcd: an admin calls the first, and a limited client the second. */
async function setUp(t: TestContext, grants: readonly string[]) {
  const { urls } = await startEtcd(t, 1)
  const keyFile = join(await temporaryFolder(t), 'key')
  await writeFile(keyFile, 'ab'.repeat(32), { mode: 0o600 })
  const flags = ['--etcd', urls.join(), '--etcd-key-file', keyFile]
  const here = await start(t, { folder: await temporaryFolder(t), flags })
  const there = await start(t, { folder: await temporaryFolder(t), flags })
  const ask = createClient(here.url, await logIn(here.url, admin))
  const change: Ask = async (method, path, parts) => {
    const answer = await ask(method, path, parts)
    assert.ok(answer.status < 300, answer.text)
    return answer
  }
  for (const name of ['a/one', 'b/one']) await change('POST', '/configurations/', { body: draft(name) })
  const made = await change('POST', '/v1/clients/', { body: { name: 'limited', grants } })
  const [account] = made.json<{ accounts: { secret: string }[] }>().accounts
  let headers: { Authorization: string } | undefined
  await eventually('the other node knows the client', async () => {
    headers = await getToken(there.url, { client_id: 'limited', client_secret: account?.secret })
    return !headers.Authorization.endsWith('undefined')
  })
  assert.ok(headers !== undefined)
  return { change, url: there.url, headers, askLimited: createClient(there.url, headers) }
}

describe('grants in a cluster', { skip: missingEtcd }, () => {
  it('limit reads and changes at every node, and end streams when they change at another', async (t) => {
    const { change, url, headers, askLimited } = await setUp(t, ['write?prefix=a%2F'])
    await eventually('the other node has the record', async () => {
      return namesIn(await askLimited('GET', '/configurations/')).length === 1
    })
    for (const [method, path, body, status] of [
      ['POST', '/configurations/', draft('b/two'), 403],
      ['POST', '/configurations/', draft('a/two'), 200],
      ['PATCH', '/configurations/b%2Fone', { port: 1 }, 404],
      ['PUT', '/configurations/b%2Fone', draft('b/one'), 403],
      ['PATCH', '/configurations/a%2Ftwo', { name: 'b/one' }, 403],
      ['POST', '/v1/import', [draft('a/three'), draft('b/three')], 400],
      ['POST', '/v1/import?mode=replace', [draft('a/two')], 200],
      ['DELETE', '/configurations/?all=1', undefined, 200],
    ] as const) {
      const answer = await askLimited(method, path, body === undefined ? {} : { body })
      assert.equal(answer.status, status, `${method} ${path}: ${answer.text}`)
    }
    assert.deepEqual(namesIn(await change('GET', '/configurations/')), ['b/one'])
    const reader = await readEvents(t, url, headers)
    await change('PATCH', '/configurations/b%2Fone', { body: { username: 'unseen' } })
    await change('PATCH', '/configurations/b%2Fone', { body: { name: 'a/back' } })
    const [added] = await reader.take(1)
    assert.deepEqual([added?.event, added?.data.configuration?.name], ['added', 'a/back'])
    await change('PATCH', '/v1/clients/limited', { body: { grants: ['read?prefix=none'] } })
    await reader.ended
    assert.ok(!reader.text().includes('b/one'))
    assert.deepEqual(namesIn(await askLimited('GET', '/configurations/')), [])
    await change('PATCH', '/v1/clients/limited', { body: { grants: null } })
    await eventually('the other node shows all again', async () => {
      return namesIn(await askLimited('GET', '/configurations/')).length === 1
    })
  })
})
