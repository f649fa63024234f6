import '../support/node-version.ts'
import '../support/light-argon2.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { addAccount, changeSecret } from '../../src/auth/accounts.ts'
import {
  dummyHash,
  PASSWORD_HASHES_MAX,
  PASSWORD_QUEUE_MAX,
  verifyPassword,
} from '../../src/auth/password.ts'
import { KNOWN_NETWORK_MS } from '../../src/auth/secret-checks.ts'
import { FREE_FAILURES, THROTTLE_PAUSE_MS_MIN, WIDER_FREE_FAILURES } from '../../src/auth/throttle.ts'
import { OverloadedError, TooManyAttemptsError } from '../../src/errors.ts'
import { networksOf } from '../../src/network.ts'
import { caller } from '../support/message.ts'
import { cheapHashOf } from '../support/started-folder.ts'
import { holdArgon2Jobs, watchArgon2Jobs } from './argon2-jobs.ts'
import { client, setUpAuthenticator, user } from './authenticator-setup.ts'

type SetUp = Awaited<ReturnType<typeof setUpAuthenticator>>

const OTHER_ADDRESS = '198.51.100.7'

/** The credentials of a client as a request carries them. */
function spelling(account: { name: string; secret: string }, secret = account.secret) {
  return { id: account.name, secret }
}

/** Both ways to present a secret; they differ only in the kind of account. */
const kinds = {
  'a login': {
    account: user,
    attempt: ({ authenticator }: SetUp, secret: string, name = user.name, address = caller.address) =>
      authenticator.logIn({ ...caller, address }, name, secret),
    events: { succeeded: 'logged_in', failed: 'login_failed', throttled: 'login_throttled' },
  },
  'a token request': {
    account: client,
    attempt: ({ authenticator }: SetUp, secret: string, name = client.name, address = caller.address) =>
      authenticator.issueToken({ ...caller, address }, [{ id: name, secret }]),
    events: { succeeded: 'token_issued', failed: 'token_refused', throttled: 'token_throttled' },
  },
} as const

for (const [what, { account, attempt, events }] of Object.entries(kinds)) {
  describe(what, () => {
    it('succeeds with the right secret only', async (t) => {
      const setUp = await setUpAuthenticator(t)
      assert.ok(await attempt(setUp, account.secret))
      for (const secret of [
        '',
        `${account.secret} `,
        account.secret.toUpperCase(),
        account.secret.slice(1),
      ]) {
        assert.equal(await attempt(setUp, secret), undefined)
      }
      for (const name of [
        '',
        'nobody',
        account.name.toUpperCase(),
        '__proto__',
        account === user ? client.name : user.name,
      ]) {
        assert.equal(await attempt(setUp, account.secret, name), undefined)
      }
    })

    it('is throttled after ten failures for its account and address only, even with the right secret', async (t) => {
      const setUp = await setUpAuthenticator(t)
      for (let i = 0; i < FREE_FAILURES; i += 1) assert.equal(await attempt(setUp, 'wrong'), undefined)
      await assert.rejects(attempt(setUp, account.secret), (error) => {
        return (
          error instanceof TooManyAttemptsError && error.retryAfterSeconds === THROTTLE_PAUSE_MS_MIN / 1000
        )
      })
      assert.ok(await attempt(setUp, account.secret, account.name, OTHER_ADDRESS))
      assert.equal(await attempt(setUp, 'wrong', 'nobody'), undefined)
      setUp.clock.advance(THROTTLE_PAUSE_MS_MIN)
      assert.ok(await attempt(setUp, account.secret))
      assert.ok(await attempt(setUp, account.secret))
    })

    it('cannot evade the throttle by many attempts at once', async (t) => {
      const setUp = await setUpAuthenticator(t)
      const attempts = Array.from({ length: 3 * FREE_FAILURES }, () => attempt(setUp, 'wrong'))
      const results = await Promise.allSettled(attempts)
      assert.equal(results.filter(({ status }) => status === 'fulfilled').length, FREE_FAILURES)
      for (const result of results)
        if (result.status === 'rejected') assert.ok(result.reason instanceof OverloadedError)
      await assert.rejects(attempt(setUp, account.secret), TooManyAttemptsError)
    })

    it('is never throttled for right secrets, however many come at once', async (t) => {
      const setUp = await setUpAuthenticator(t)
      const attempts = Array.from({ length: 3 * FREE_FAILURES }, () => attempt(setUp, account.secret))
      const results = await Promise.allSettled(attempts)
      assert.equal(results.filter(({ status }) => status === 'fulfilled').length, FREE_FAILURES)
      assert.ok(await attempt(setUp, account.secret))
    })

    it('is not throttled any more once the account has a new secret', async (t) => {
      const setUp = await setUpAuthenticator(t)
      for (let i = 0; i < FREE_FAILURES; i += 1) await attempt(setUp, 'wrong')
      await assert.rejects(attempt(setUp, account.secret), TooManyAttemptsError)
      const hash = await cheapHashOf('new secret')
      const kind = account === user ? 'user' : 'client'
      await setUp.change((accounts) => changeSecret(accounts, kind, account.name, hash))
      assert.ok(await attempt(setUp, 'new secret'))
    })

    it('is throttled after forty failures from one /24, unless the account has lately logged in from the network', async (t) => {
      const setUp = await setUpAuthenticator(t)
      const [known, unknown] = ['192.0.2.100', '192.0.2.101']
      const from = (address: string, secret: string = account.secret) =>
        attempt(setUp, secret, account.name, address)
      assert.ok(await from(known))
      for (let i = 0; i < WIDER_FREE_FAILURES[0]; i += 1) await from(`192.0.2.${i % 5}`, 'wrong')
      await assert.rejects(from(unknown), TooManyAttemptsError)
      assert.ok(await from(known))
      assert.ok(await from(OTHER_ADDRESS))
      setUp.clock.advance(KNOWN_NETWORK_MS)
      for (let i = 0; i < WIDER_FREE_FAILURES[0]; i += 1) await from(`192.0.2.${i % 5}`, 'wrong')
      await assert.rejects(from(known), TooManyAttemptsError)
    })

    it('is throttled for an unknown account as for a known one', async (t) => {
      const setUp = await setUpAuthenticator(t)
      for (let i = 0; i < FREE_FAILURES; i += 1) await attempt(setUp, 'wrong', 'nobody')
      await assert.rejects(attempt(setUp, 'wrong', 'nobody'), TooManyAttemptsError)
    })

    it('is logged with account and address, but never with a secret or an unknown name', async (t) => {
      const setUp = await setUpAuthenticator(t)
      await attempt(setUp, account.secret)
      await attempt(setUp, 'wrong secret')
      await attempt(setUp, 'wrong secret', 'typed into the wrong field')
      for (let i = 1; i < FREE_FAILURES; i += 1) await attempt(setUp, 'wrong secret')
      await assert.rejects(attempt(setUp, account.secret))
      const { log } = setUp
      assert.deepEqual([...new Set(log.events)], [events.succeeded, events.failed, events.throttled])
      const [first = '', second = '', third = ''] = log.lines
      for (const line of [first, second, log.lines.at(-1) ?? '']) {
        assert.equal(JSON.parse(line).account, account.name)
        assert.equal(JSON.parse(line).address, caller.address)
      }
      assert.equal(JSON.parse(third).account, undefined)
      for (const secret of [account.secret, 'wrong secret', 'wrong field', 'eyJ']) {
        assert.ok(!log.lines.join('').includes(secret), secret)
      }
    })
  })
}

describe('the cost of a check', () => {
  const chosen = { name: 'chosen', secret: 'chosen by a person' }
  const addChosen = ({ change }: SetUp) =>
    change(async (accounts) => addAccount(accounts, 'client', chosen.name, await cheapHashOf(chosen.secret)))

  const rows: readonly (readonly [
    what: string,
    hasChosen: boolean,
    jobs: number,
    run: (s: SetUp) => Promise<unknown>,
  ])[] = [
    ['a right password', false, 1, (s) => s.authenticator.logIn(caller, user.name, user.secret)],
    ['a wrong password', false, 1, (s) => s.authenticator.logIn(caller, user.name, 'wrong')],
    ['an unknown user', false, 1, (s) => s.authenticator.logIn(caller, 'nobody', 'wrong')],
    ['a generated secret', false, 0, (s) => s.authenticator.issueToken(caller, [spelling(client)])],
    ['a wrong secret', false, 0, (s) => s.authenticator.issueToken(caller, [spelling(client, 'wrong')])],
    [
      'an unknown client',
      false,
      0,
      (s) => s.authenticator.issueToken(caller, [{ id: 'nobody', secret: 'wrong' }]),
    ],
    ['a chosen secret', true, 1, (s) => s.authenticator.issueToken(caller, [spelling(chosen)])],
    [
      'a wrong chosen secret',
      true,
      1,
      (s) => s.authenticator.issueToken(caller, [spelling(chosen, 'wrong')]),
    ],
    [
      'a generated secret beside a chosen one',
      true,
      0,
      (s) => s.authenticator.issueToken(caller, [spelling(client)]),
    ],
    [
      'a wrong secret beside a chosen one',
      true,
      1,
      (s) => s.authenticator.issueToken(caller, [spelling(client, 'wrong')]),
    ],
    [
      'an unknown client beside a chosen secret',
      true,
      1,
      (s) => s.authenticator.issueToken(caller, [{ id: 'nobody', secret: 'wrong' }]),
    ],
  ]
  for (const [what, hasChosen, expected, run] of rows) {
    it(`is ${expected} slow hash${expected === 1 ? '' : 'es'} for ${what}`, async (t) => {
      const setUp = await setUpAuthenticator(t)
      if (hasChosen) await addChosen(setUp)
      const jobs = watchArgon2Jobs(t)
      await run(setUp)
      assert.equal(jobs.started, expected)
    })
  }

  it('may be paid for both spellings of a secret, one of which is right', async (t) => {
    const setUp = await setUpAuthenticator(t)
    await addChosen(setUp)
    for (const account of [chosen, client]) {
      assert.ok(await setUp.authenticator.issueToken(caller, [spelling(account, 'wrong'), spelling(account)]))
    }
  })
})

describe('a client id with two possible readings', () => {
  it('counts as the reading that names a client, so that a good client is never throttled', async (t) => {
    const setUp = await setUpAuthenticator(t)
    const encoded = { id: 'script%31', secret: client.secret }
    for (let i = 0; i < 2 * FREE_FAILURES; i += 1) {
      assert.ok(await setUp.authenticator.issueToken(caller, [encoded, spelling(client)]))
    }
    assert.deepEqual([...new Set(setUp.log.events)], ['token_issued'])
  })
})

describe('an attempt that could not be checked', () => {
  it('does not count', async (t) => {
    const { authenticator, log } = await setUpAuthenticator(t)
    const handOver = holdArgon2Jobs(t)
    const waiting = Array.from({ length: PASSWORD_HASHES_MAX + PASSWORD_QUEUE_MAX }, () =>
      verifyPassword('', dummyHash, ['unknown', ...networksOf(caller.address)]),
    )
    for (let i = 0; i < 2 * FREE_FAILURES; i += 1) {
      await assert.rejects(authenticator.logIn(caller, user.name, user.secret), OverloadedError)
    }
    assert.match(
      log.lines.at(-1) ?? '',
      /"event":"login_not_checked".*"reason":"Cannot check.*too many others/,
    )
    handOver()
    await Promise.all(waiting)
    assert.ok(await authenticator.logIn(caller, user.name, user.secret))
  })

  it('is one of the group of networks whose checks fill the queue, and no other', async (t) => {
    const { authenticator } = await setUpAuthenticator(t)
    const handOver = holdArgon2Jobs(t)
    const flood = Array.from({ length: PASSWORD_HASHES_MAX + PASSWORD_QUEUE_MAX }, (_, i) =>
      verifyPassword('', dummyHash, ['unknown', ...networksOf(`2001:db8::${i.toString(16)}:0:0:0:1`)]),
    )
    const flooded = Promise.allSettled(flood)
    const loggedIn = authenticator.logIn({ ...caller, address: OTHER_ADDRESS }, user.name, user.secret)
    // The login has taken its place once one of the others is refused.
    await Promise.any(
      flood.map((check) =>
        check.then(
          () => Promise.reject(),
          () => {},
        ),
      ),
    )
    handOver()
    assert.ok(await loggedIn)
    const refused = (await flooded).flatMap((each) => (each.status === 'rejected' ? [each.reason] : []))
    assert.equal(refused.length, 1)
    assert.ok(refused[0] instanceof OverloadedError)
  })
  it('is never that of a network known for its account, however many other networks come', async (t) => {
    const { authenticator } = await setUpAuthenticator(t)
    const logIn = () => authenticator.logIn(caller, user.name, user.secret)
    assert.ok(await logIn())
    const handOver = holdArgon2Jobs(t)
    const flood = Array.from({ length: PASSWORD_HASHES_MAX + 2 * PASSWORD_QUEUE_MAX }, (_, i) =>
      verifyPassword('', dummyHash, ['unknown', ...networksOf(`2001:db8:${i.toString(16)}::1`)]),
    )
    const flooded = Promise.allSettled(flood)
    const loggedIn = logIn()
    // Until the login waits for its turn.
    await nextTurn()
    handOver()
    assert.ok(await loggedIn)
    await flooded
  })
})
