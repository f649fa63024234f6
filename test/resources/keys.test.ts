import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { describe, it, type TestContext } from 'node:test'
import { KEY_TAKE_UP_SECONDS } from '../../src/auth/key-rotation.ts'
import { keysDocument, keysForm } from '../../src/auth/keys.ts'
import { dataFiles } from '../../src/files/data-folder.ts'
import { seal } from '../../src/files/json-document.ts'
import { KEYS_MAX } from '../../src/limits.ts'
import { trailIn } from '../audit/trail.ts'
import { createFailingFiles, failOn } from '../support/failing-files.ts'
import { type HeldClock, holdClock } from '../support/held-clock.ts'
import { createClient } from '../support/http-client.ts'
import { asOwner } from '../support/owner.ts'
import { firstStartEnvironment, start } from '../support/service.ts'
import { problemIn } from './administrators.ts'

interface ShownKey {
  readonly id: string
  readonly created?: string
  readonly until?: string
  readonly signs?: boolean
}

/** A server whose clock the test holds, with the owner's calls. */
async function open(t: TestContext, clock: HeldClock = holdClock()) {
  const files = createFailingFiles()
  const service = await start(t, { clock, files, environment: firstStartEnvironment })
  const ask = asOwner(service, { 'Connbook-Account': 'jo', 'Connbook-Command': 'keys rotate' })
  const change = async (verb: 'rotate' | 'revoke-all') => {
    const answer = await ask('POST', `/v1/keys/${verb}`)
    assert.equal(answer.status, 200, answer.text)
    return answer.json<{ key: ShownKey; superseded?: ShownKey }>()
  }
  const list = async () => (await ask('GET', '/v1/keys')).json<{ keys: ShownKey[] }>().keys
  /** The key of a token that is issued now. */
  const issue = async () => {
    const token = await service.bearer()
    const [head = ''] = token.replace('Bearer ', '').split('.')
    const { kid } = JSON.parse(Buffer.from(head, 'base64url').toString()) as { kid: string }
    return { kid, asIssued: createClient(service.url, { Authorization: token }) }
  }
  return { service, clock, files, ask, change, list, issue }
}

const later = (clock: HeldClock, seconds: number) =>
  new Date(clock.wall + seconds * 1000).toISOString().replace('.000Z', 'Z')

describe('the keys', () => {
  it('are listed with their times, without secrets', async (t) => {
    const { service, clock, ask, list } = await open(t)
    const stored = (await keysDocument(service.folder).read()) ?? []
    assert.deepEqual(await list(), [{ id: stored[0]?.id, created: later(clock, 0), signs: true }])
    const answer = await ask('GET', '/v1/keys')
    assert.equal(answer.headers['cache-control'], 'no-store')
    assert.ok(stored.every(({ secret }) => !answer.text.includes(secret)))
    assert.deepEqual(problemIn(await ask('GET', '/v1/keys?x=1')), [400, 'invalid_input'])
  })

  it('are rotated before the answer: the next token has the new one, and the last one of the old stays valid', async (t) => {
    const { service, clock, change, list, issue } = await open(t)
    const ttl = 12 * 3600
    const rotated: ShownKey[] = []
    for (let i = 0; i < 3; i++) {
      const before = await issue()
      const { key, superseded } = await change('rotate')
      assert.deepEqual(superseded, {
        id: before.kid,
        created: later(clock, 0),
        until: later(clock, ttl + KEY_TAKE_UP_SECONDS),
      })
      assert.equal((await issue()).kid, key.id)
      assert.equal((await before.asIssued('GET', '/v1/whoami')).status, 200)
      rotated.unshift(superseded)
      assert.deepEqual(await list(), [
        { ...key, signs: true },
        ...rotated.map((one) => ({ ...one, signs: false })),
      ])
    }
    clock.advance((ttl + KEY_TAKE_UP_SECONDS) * 1000)
    assert.equal((await list()).length, 1)
    const listed = (await trailIn(service.folder.path)).findLast(({ event }) => event === 'keys_rotated')
    assert.deepEqual([listed?.by, listed?.command, listed?.key], ['jo', 'keys rotate', (await list())[0]?.id])
  })

  it('are all replaced before the answer: no older token is valid in the next request', async (t) => {
    const { service, change, list, issue } = await open(t)
    const before = await issue()
    await change('rotate')
    const { key, superseded } = await change('revoke-all')
    assert.equal(superseded, undefined)
    assert.equal((await before.asIssued('GET', '/v1/whoami')).status, 403)
    assert.deepEqual(await list(), [{ ...key, signs: true }])
    assert.equal((await issue()).kid, key.id)
    const listed = (await trailIn(service.folder.path)).findLast(({ event }) => event === 'keys_revoked')
    assert.equal(listed?.key, key.id)
  })

  it('stay as they are if there are too many, or the disk is full', async (t) => {
    const { files, ask, change, list } = await open(t)
    failOn(files, 'write', dataFiles.keys, 'ENOSPC')
    assert.deepEqual(problemIn(await ask('POST', '/v1/keys/rotate')), [507, 'storage_full'])
    for (let i = 1; i < KEYS_MAX; i++) await change('rotate')
    const full = await list()
    const answer = await ask('POST', '/v1/keys/rotate')
    assert.deepEqual(problemIn(answer), [409, 'too_many_keys'])
    assert.match(answer.json<{ detail: string }>().detail, /^Cannot rotate the keys: 16 of them verify/)
    assert.deepEqual(await list(), full)
  })

  it('are those in force where a file without keys was put', async (t) => {
    const { service, change, issue } = await open(t)
    const { kid } = await issue()
    await writeFile(service.folder.file(dataFiles.keys), JSON.stringify(seal(keysForm, [])))
    assert.equal((await change('rotate')).superseded?.id, kid)
  })
})
