import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createPasswordChanges } from '../../src/auth/password-changes.ts'
import { PASSWORD_CHANGES_MAX, PASSWORD_CHANGES_WINDOW_MS } from '../../src/limits.ts'
import { holdClock } from '../support/held-clock.ts'

describe('changes of a password', () => {
  it('are limited for each user, until the time is over', () => {
    const clock = holdClock()
    const changes = createPasswordChanges(clock.make())
    for (let i = 0; i < PASSWORD_CHANGES_MAX; i++) changes.take('one')
    clock.advance(PASSWORD_CHANGES_WINDOW_MS - 1)
    const refusal = { code: 'overloaded', headers: { 'Retry-After': '1' } }
    assert.throws(() => changes.take('one'), refusal)
    changes.take('another')
    clock.advance(1)
    changes.take('one')
  })
})
