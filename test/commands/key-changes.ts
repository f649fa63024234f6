import assert from 'node:assert/strict'
import { getToken } from '../support/api.ts'
import type { Headers } from '../support/http-client.ts'
import { client } from '../support/service.ts'
import { areGood, newCredentials } from './live-credentials.ts'

/** A server, and commands on its folder. */
export interface ServerWithKeys {
  readonly folder: string
  url(): string
  /** Runs `keys …`, and waits until a server uses the result. @returns Its standard output. */
  run(verb: string): Promise<string>
  /** Ends the server, each time in another way, and starts it again. */
  restart(): Promise<void>
}

export async function assertRotateKeepsCredentials(server: ServerWithKeys): Promise<void> {
  const areAllGood = async () => (await areGood(server.url(), all)).every(Boolean)
  const signsWith = async () => keyOf(await getToken(server.url(), client))
  const all: Headers[] = [...(await newCredentials(server.url()))]
  const signed = [await signsWith()]
  // Twice, so that the first key is superseded by two others.
  for (let i = 0; i < 2; i += 1) {
    assert.ok(await areAllGood())
    const stdout = await server.run('rotate')
    const key = await signsWith()
    assert.match(
      stdout,
      new RegExp(
        `^Rotated the keys in ${server.folder}\nKey ${key} signs from now on\nKey ${signed[i]} verifies until \\d{4}-.+Z, when .+\n$`,
      ),
    )
    assert.ok(!signed.includes(key))
    signed.push(key)
    all.push(...(await newCredentials(server.url())))
    assert.ok(await areAllGood())
  }
  for (let restarts = 1; restarts <= 2; restarts += 1) {
    await server.restart()
    assert.ok(await areAllGood(), `after restart ${restarts}`)
    assert.equal(await signsWith(), signed.at(-1))
  }
}

export async function assertRevokeEndsCredentials(server: ServerWithKeys): Promise<void> {
  const isAnyGood = async () => (await areGood(server.url(), all)).some(Boolean)
  const all: Headers[] = [...(await newCredentials(server.url()))]
  await server.run('rotate')
  all.push(...(await newCredentials(server.url())))
  const stdout = await server.run('revoke-all')
  assert.ok(stdout.startsWith(`Replaced the keys in ${server.folder}\n`))
  assert.ok(stdout.endsWith('Every session and token has ended\n'))
  assert.ok(!(await isAnyGood()))
  const anew = await newCredentials(server.url())
  assert.deepEqual(await areGood(server.url(), anew), [true, true])
  await server.restart()
  assert.ok(!(await isAnyGood()))
  assert.deepEqual(await areGood(server.url(), anew), [true, true])
}

/** The id of the key that signed a session or token. */
function keyOf(headers: Headers): string {
  const [header = ''] = Object.values(headers)
    .join()
    .replace(/^.*[= ]/, '')
    .split('.')
  return JSON.parse(Buffer.from(header, 'base64url').toString()).kid
}
