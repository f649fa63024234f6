import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  ACCOUNT_REVOCATIONS_MAX,
  createJti,
  EndedCredentials,
  REVOCATIONS_DROPPED_AT_ONCE,
} from '../../src/auth/ended-credentials.ts'

const NOW = 1_000
const LATER = 2_000

let made = 0

/** Credentials of one generation, as `createJti` names them, but numbered, which is faster. */
const jtis = (generation: number, count: number) =>
  Array.from({ length: count }, () => `${String(++made).padStart(16, '0')}.${generation}`)

/** Nothing has ended yet. */
function setUp(...limits: ConstructorParameters<typeof EndedCredentials>) {
  const ended = new EndedCredentials(...limits)
  const add = (all: readonly string[], exp = LATER) => {
    for (const jti of all) ended.add(jti, exp)
  }
  return { ended, add }
}

describe('EndedCredentials', () => {
  it('knows each credential that ended, also of earlier versions', () => {
    const { ended, add } = setUp()
    const [one, other] = [createJti(7), createJti(7)]
    add([one, 'AAAAAAAAAAAAAAAA', '1234567890123456', one])
    for (const jti of [one, 'AAAAAAAAAAAAAAAA', '1234567890123456']) assert.equal(ended.has(jti), true)
    assert.equal(ended.has(other), false)
    assert.equal(ended.size, 3)
    assert.deepEqual(new Map(ended).get(one), LATER)
  })

  it('has room for so many of a generation, and for those of others then', () => {
    const { ended, add } = setUp()
    add(jtis(1, ACCOUNT_REVOCATIONS_MAX - 1))
    assert.equal(ended.hasRoom(1, NOW), true)
    const arrived = ended.expect(createJti(1))
    assert.equal(ended.hasRoom(1, NOW), false)
    arrived()
    assert.equal(ended.hasRoom(1, NOW), true)
    add(jtis(1, 1))
    assert.deepEqual([ended.hasRoom(1, NOW), ended.hasRoom(2, NOW)], [false, true])
  })

  it('has no room for more of all, until it has found expired ones, a few at each look', () => {
    const [max, ofGenerationMax] = [15_000, 5]
    const { ended, add } = setUp(max, ofGenerationMax)
    const generations = max / ofGenerationMax
    for (let i = 1; i <= generations; i++) add(jtis(i, ofGenerationMax), i === generations ? NOW : LATER)
    assert.equal(ended.size, max)
    assert.equal(ended.hasRoom(generations + 1, NOW - 1), false)
    const looksMax = 2 + generations / REVOCATIONS_DROPPED_AT_ONCE
    let looks = 1
    for (; !ended.hasRoom(generations + 1, NOW); looks += 1) assert.ok(looks < looksMax, `${looks} looks`)
    assert.ok(looks > 1)
    assert.equal(ended.size, max - ofGenerationMax)
  })

  it('has room again when credentials of the generation have expired', () => {
    const { ended, add } = setUp()
    add(jtis(1, ACCOUNT_REVOCATIONS_MAX - 1))
    const [first = ''] = jtis(1, 1)
    add([first], NOW + 1)
    assert.deepEqual([ended.hasRoom(1, NOW), ended.has(first)], [false, true])
    assert.deepEqual([ended.hasRoom(1, NOW + 1), ended.has(first)], [true, false])
  })

  it('drops a generation that is over, with what is on its way to the disk', () => {
    const { ended, add } = setUp()
    const [kept = ''] = jtis(2, 1)
    const [late = ''] = jtis(1, 1)
    add([kept, ...jtis(1, 3)])
    const arrived = ended.expect(late)
    ended.dropGeneration(1)
    ended.dropGeneration(3)
    ended.add(late, LATER)
    arrived()
    assert.deepEqual([...ended], [[kept, LATER]])
    assert.equal(ended.size, 1)
  })

  it('drops what has expired', () => {
    const { ended, add } = setUp()
    const [kept = ''] = jtis(1, 1)
    add([kept])
    add([...jtis(1, 2), ...jtis(2, 2)], NOW)
    ended.dropExpired(NOW)
    assert.deepEqual([...ended], [[kept, LATER]])
    assert.equal(ended.size, 1)
  })
})
