import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createArgon2Worker } from '../../src/auth/argon2-worker.ts'
import { OverloadedError } from '../../src/errors.ts'
import { assertOnlyMatch, passwords, shown } from './matching-passwords.ts'

describe('hashPassword', () => {
  for (const password of passwords)
    it(`gives, at full cost, a hash that only ${shown(password)} matches`, () => assertOnlyMatch(password))
})

describe('the thread for argon2', () => {
  it('refuses the calls when its heap is full', async () => {
    const parameters = {
      nonce: Buffer.from('somesalt'),
      memory: 256,
      passes: 2,
      parallelism: 2,
      tagLength: 32,
    }
    const { compute } = createArgon2Worker()
    const message = 'x'.repeat(20 * 1024 * 1024)
    const flood = Array.from({ length: 8 }, () => compute({ ...parameters, message }))
    const outcomes = await Promise.allSettled(flood)
    assert.ok(outcomes.some(({ status }) => status === 'rejected'))
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') assert.ok(outcome.reason instanceof OverloadedError, outcome.reason)
    }
    assert.equal((await compute({ ...parameters, message: 'password' })).byteLength, 32)
  })
})
