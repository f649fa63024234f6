import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ACCOUNT_REVOCATIONS_MAX, REVOCATIONS_DROPPED_AT_ONCE, REVOCATIONS_MAX } from '../../src/limits.ts'
import { jtis, LATER, NOW, setUp } from './made-up-credentials.ts'

describe('EndedCredentials', () => {
  it('has no room for more of all, until it has found expired ones, a few at each look', () => {
    const { ended, add } = setUp()
    const generations = REVOCATIONS_MAX / ACCOUNT_REVOCATIONS_MAX
    for (let i = 1; i <= generations; i++)
      add(jtis(i, ACCOUNT_REVOCATIONS_MAX), i === generations ? NOW : LATER)
    assert.equal(ended.size, REVOCATIONS_MAX)
    assert.equal(ended.hasRoom(generations + 1, NOW - 1), false)
    const looksMax = 2 + generations / REVOCATIONS_DROPPED_AT_ONCE
    let looks = 1
    for (; !ended.hasRoom(generations + 1, NOW); looks += 1) assert.ok(looks < looksMax, `${looks} looks`)
    assert.equal(ended.size, REVOCATIONS_MAX - ACCOUNT_REVOCATIONS_MAX)
  })
})
