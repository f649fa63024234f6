import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { faultOfChosen } from '../../src/auth/chosen-secret.ts'

describe('a chosen password or secret', () => {
  it('has at least 8 or 16 characters, at most 1,024 bytes, and is not the name of the account', () => {
    for (const [kind, charactersMin] of [
      ['user', 8],
      ['client', 16],
    ] as const) {
      for (const character of ['x', 'é', '😀']) {
        const shortest = character.repeat(charactersMin)
        assert.equal(faultOfChosen(kind, shortest, 'another name'), undefined)
        assert.equal(faultOfChosen(kind, shortest), undefined)
        assert.match(faultOfChosen(kind, character.repeat(charactersMin - 1)) ?? '', /^is shorter than/)
        assert.match(faultOfChosen(kind, shortest, shortest) ?? '', /^is the (name|id) of the/)
        const longest = character.repeat(1_024 / Buffer.byteLength(character))
        assert.equal(faultOfChosen(kind, longest), undefined)
        assert.match(faultOfChosen(kind, `${longest}x`) ?? '', /^is longer than 1024 bytes/)
      }
    }
  })
})
