import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CREDENTIALS_ENDED_PAUSE_MS, CredentialEnding } from '../../src/auth/credential-ending.ts'
import { createJti, type Revocations } from '../../src/auth/ended-credentials.ts'
import type { VerifiedClaims } from '../../src/auth/token-verifier.ts'
import { StorageFullError } from '../../src/errors.ts'
import { Problem } from '../../src/http/problem.ts'
import { senderOf } from '../../src/store/authorship.ts'
import { holdClock } from '../support/held-clock.ts'
import { createMemoryLog } from '../support/memory-log.ts'

const caller = { requestId: 'r1', address: '192.0.2.1', isSecure: false }

function claimsOf(name: string, gen: number): VerifiedClaims {
  const principal = { kind: 'client', name, scope: 'read' } as const
  return { iss: 'connbook', sub: name, aud: 'api', iat: 0, exp: 60, jti: createJti(gen), gen, principal }
}

/** An ending whose list has no room for the generations in `full`. */
function setUp() {
  const clock = holdClock()
  const full = new Set<number>()
  const listed: string[] = []
  const dropped: number[] = []
  const raised: string[] = []
  const told: unknown[][] = []
  const log = createMemoryLog()
  const raise = { run: async (_: number) => true }
  const ending = new CredentialEnding(
    {
      async endCredentials(_, name, generation) {
        const hasRaised = await raise.run(generation)
        if (hasRaised) raised.push(name)
        return hasRaised
      },
    },
    {
      clock: clock.make(),
      hasRoom: (generation: number) => !full.has(generation),
      add: async (jti: string) => void listed.push(jti),
      dropGeneration: (generation: number) => dropped.push(generation),
    } as unknown as Revocations,
    { record: async (...line: unknown[]) => void told.push(line) },
    log,
  )
  const end = (name: string, gen: number) => ending.end(claimsOf(name, gen), caller)
  return { clock, dropped, end, ending, full, listed, log, raise, raised, told }
}

describe('CredentialEnding', () => {
  it('lists a credential while there is room', async () => {
    const { ending, listed, log, raised } = setUp()
    const claims = claimsOf('a', 1)
    await ending.end(claims, caller)
    assert.deepEqual([listed, raised, log.events], [[claims.jti], [], []])
  })

  it('ends all credentials of an account that has no room left, once, and says so', async () => {
    const { dropped, end, full, listed, log, raised, told } = setUp()
    full.add(1)
    await Promise.all([end('a', 1), end('a', 1), end('b', 2)])
    assert.deepEqual([raised, dropped, listed.length], [['a'], [1], 1])
    assert.deepEqual(log.events, ['credentials_ended'])
    assert.deepEqual(told, [['credentials_ended', senderOf(caller), { account: 'a' }]])
  })

  it('does so once in a minute for each account, and refuses further ends until then', async () => {
    const { clock, end, full, raised } = setUp()
    for (const generation of [1, 2, 3]) full.add(generation)
    await end('a', 1)
    await assert.rejects(end('a', 2), (error) => {
      assert.ok(error instanceof Problem)
      assert.deepEqual([error.status, error.headers['Retry-After']], [503, '60'])
      return true
    })
    await end('b', 3)
    clock.advance(CREDENTIALS_ENDED_PAUSE_MS)
    await end('a', 2)
    assert.deepEqual(raised, ['a', 'b', 'a'])
  })

  it('drops nothing if the accounts could not be stored, and tries again at the next end', async () => {
    const { dropped, end, full, log, raise, raised } = setUp()
    full.add(1)
    raise.run = async () => {
      throw new StorageFullError('no room')
    }
    await assert.rejects(end('a', 1), StorageFullError)
    assert.deepEqual([dropped, log.events], [[], []])
    raise.run = async () => true
    await end('a', 1)
    assert.deepEqual([raised, dropped], [['a'], [1]])
  })

  it('says nothing if a command has ended them meanwhile', async () => {
    const { dropped, end, full, log, raise, told } = setUp()
    full.add(1)
    raise.run = async () => false
    await end('a', 1)
    assert.deepEqual([dropped, log.events, told], [[1], [], []])
  })
})
