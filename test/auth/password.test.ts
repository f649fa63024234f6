import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  dummyHash,
  hashPassword,
  isPasswordHash,
  PASSWORD_HASHES_MAX,
  PASSWORD_QUEUE_MAX,
  verifyPassword,
} from '../../src/auth/password.ts'
import { OverloadedError } from '../../src/errors.ts'
import { useFullArgon2 } from '../support/light-argon2.ts'
import { watchArgon2Jobs } from './argon2-jobs.ts'
import { assertOnlyMatch, passwords, shown } from './matching-passwords.ts'

// From the tests of the reference implementation; it is cheap.
const foreignHash = '$argon2id$v=19$m=256,t=2,p=2$c29tZXNhbHQ$bQk8UB/VmZZF4Oo79iDXuL5/0ttZwg2f/5U52iv1cDc'

describe('hashPassword', () => {
  it('returns an argon2id PHC string with a new salt each time', async () => {
    const [first, second] = await Promise.all([hashPassword('secret'), hashPassword('secret')])
    const phc = /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/
    assert.match(first, phc)
    assert.match(second, phc)
    assert.notEqual(first, second)
  })

  for (const password of passwords)
    it(`gives a hash that only ${shown(password)} matches`, () => assertOnlyMatch(password))
})

describe('verifyPassword', () => {
  useFullArgon2()

  it('accepts a hash with other parameters', async () => {
    assert.equal(await verifyPassword('password', foreignHash), true)
    assert.equal(await verifyPassword('differentpassword', foreignHash), false)
  })

  it('rejects text that is not a hash', async () => {
    await assert.rejects(verifyPassword('secret', 'sha256:abc'), SyntaxError)
  })
})

describe('the dummy hash', () => {
  it('is that of no password, at the cost of a real one', async () => {
    assert.equal(await verifyPassword('', dummyHash), false)
    const [parameters] = /\$m=[^$]+\$/.exec(await hashPassword('secret')) ?? []
    assert.ok(dummyHash.includes(parameters ?? assert.fail()))
  })
})

describe('isPasswordHash', () => {
  const rows: Record<string, boolean> = {
    [dummyHash]: true,
    [foreignHash]: true,
    '': false,
    'sha256:abc': false,
    [dummyHash.replace('argon2id', 'argon2i')]: false,
    [dummyHash.replace('v=19', 'v=16')]: false,
    [dummyHash.replace('m=19456,', '')]: false,
    [dummyHash.slice(0, 40)]: false,
    [`${dummyHash}$`]: false,
    [` ${dummyHash}`]: false,
  }
  for (const [text, expected] of Object.entries(rows)) {
    it(`says ${expected} for "${text}"`, () => assert.equal(isPasswordHash(text), expected))
  }
})

describe('password hashes', () => {
  useFullArgon2()

  it('are handed over two at a time', async (t) => {
    const jobs = watchArgon2Jobs(t)
    await Promise.all(Array.from({ length: 8 }, () => verifyPassword('password', foreignHash)))
    assert.equal(jobs.started, 8)
    assert.equal(jobs.atOnceMax, PASSWORD_HASHES_MAX)
    assert.equal(PASSWORD_HASHES_MAX, 2)
  })

  it('free their place when they fail', async () => {
    const unusable = foreignHash.replace('p=2', 'p=0')
    const attempts = Array.from({ length: 8 }, () => verifyPassword('password', unusable))
    for (const { status } of await Promise.allSettled(attempts)) assert.equal(status, 'rejected')
    assert.equal(await verifyPassword('password', foreignHash), true)
  })
})

describe('password hashes that wait', () => {
  it('are in a bounded queue, and are refused when it is full', async () => {
    const hash = await hashPassword('password')
    const taken = Array.from({ length: PASSWORD_HASHES_MAX + PASSWORD_QUEUE_MAX }, () =>
      verifyPassword('password', hash),
    )
    await assert.rejects(verifyPassword('password', hash), OverloadedError)
    await assert.rejects(hashPassword('password'), OverloadedError)
    assert.ok((await Promise.all(taken)).every(Boolean))
    assert.equal(await verifyPassword('password', hash), true)
  })
})
