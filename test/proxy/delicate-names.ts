import assert from 'node:assert/strict'
import { NAME_CHARACTERS_MAX } from '../../src/limits.ts'
import { pathOf } from '../support/api.ts'
import { type createClient, namesIn, recordsIn } from '../support/http-client.ts'
import { draft } from '../support/store.ts'

type Ask = ReturnType<typeof createClient>

/** Names that a proxy might decode, normalize or cut off. */
export const DELICATE_NAMES = [
  'db/main',
  '/',
  '//a///b/',
  'a/./b',
  '../x',
  'a/../b',
  '..a',
  '...',
  '%',
  '100%',
  '%2F',
  '%252F',
  '%2e%2e',
  '%zz',
  'a b',
  ' a ',
  '+',
  'a?b=c&d',
  'a#b',
  'a;b=c',
  'a\\b',
  '"<>\'`{|}^[]',
  '$http_host',
  'é ü 日本 😀',
  'e\u0301',
  '\u202e\ufeff',
  '__proto__',
  '😀'.repeat(NAME_CHARACTERS_MAX),
]

/**
 * Adds, reads, changes, lists and deletes a record of every delicate name through a proxy.
 *
 * @param ask Asks connbook below its base path, `/connbook`, and `askOrigin` the proxy itself.
 */
export async function sendDelicateNames(ask: Ask, askOrigin: Ask): Promise<void> {
  for (const name of DELICATE_NAMES) {
    const added = await ask('POST', '/configurations/', { body: draft(name) })
    assert.equal(added.status, 200, `${name}: ${added.text}`)
    const { location = '' } = added.headers
    assert.equal(location, `/connbook${pathOf(name)}`)
    assert.deepEqual(namesIn(await askOrigin('GET', location)), [name])
    const changed = await ask('PATCH', pathOf(name), { body: { port: 23 } })
    assert.deepEqual([recordsIn(changed)[0]?.name, recordsIn(changed)[0]?.port], [name, 23])
  }
  const listed = namesIn(await ask('GET', '/configurations/'))
  assert.deepEqual(listed.slice(-DELICATE_NAMES.length), DELICATE_NAMES)
  for (const name of DELICATE_NAMES) assert.equal((await ask('DELETE', pathOf(name))).status, 209, name)
}
