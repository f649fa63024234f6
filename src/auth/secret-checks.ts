import { hash } from 'node:crypto'
import { OverloadedError } from '../errors.ts'
import type { Caller } from '../http/message.ts'
import { Counter, type Family } from '../metrics/family.ts'
import { networkOf, networksOf } from '../network.ts'
import type { Account, AccountKind } from './accounts.ts'
import type { AttemptLog } from './attempt-log.ts'
import type { Clock } from './clock.ts'
import type { LiveAccounts } from './live-accounts.ts'
import { dummyHash, verifyPassword } from './password.ts'
import { digestSecret, isSameText } from './secret.ts'
import { type Attempt, Throttle } from './throttle.ts'

/** How long a network is known for an account after a login. */
export const KNOWN_NETWORK_MS = 30 * 24 * 60 * 60_000
/** Networks that are known for an account; the least recent is forgotten. */
export const ACCOUNT_KNOWN_NETWORKS_MAX = 64
/** The same for all accounts. */
export const KNOWN_NETWORKS_MAX = 10_000

/** Events of the log and the audit trail, by why a secret was refused. */
const checkEvents = {
  user: {
    failed: 'login_failed',
    throttled: 'login_throttled',
    not_checked: 'login_not_checked',
  },
  client: {
    failed: 'token_refused',
    throttled: 'token_throttled',
    not_checked: 'token_not_checked',
  },
} as const

export interface ClientCredentials {
  readonly id: string
  readonly secret: string
}

/** Checks passwords and client secrets: under the throttle, in the queue of passwords, with a record of each failure. */
export class SecretChecks {
  readonly logins: Readonly<Record<AccountKind, LoginCounters>> = createLoginCounters()
  readonly #accounts: Pick<LiveAccounts, 'find' | 'hasChosenClientSecret'>
  readonly #attempts: Pick<AttemptLog, 'failed'>
  // One per kind: a flood of client ids, which are quick to check, must not push users out.
  readonly #throttles: Readonly<Record<AccountKind, Throttle>>
  readonly #knownNetworks: KnownNetworks

  constructor(
    accounts: Pick<LiveAccounts, 'find' | 'hasChosenClientSecret'>,
    attempts: Pick<AttemptLog, 'failed'>,
    clock: Clock,
  ) {
    this.#accounts = accounts
    this.#attempts = attempts
    this.#throttles = { user: new Throttle(clock), client: new Throttle(clock) }
    this.#knownNetworks = new KnownNetworks(clock)
  }

  /**
   * @returns The user's account; undefined, after the same time, if user or password is wrong.
   * @throws {TooManyAttemptsError} {OverloadedError}
   */
  async checkUser(caller: Caller, name: string, password: string): Promise<Account | undefined> {
    return this.#check(caller, 'user', name, async (found, path) => {
      const isRight = await verifyPassword(password, found?.secret ?? dummyHash, path)
      return isRight && found !== undefined
    })
  }

  /**
   * @param spellings Readings of what was sent, the likeliest first; the first id that exists counts.
   * @param admit Called once the secret is right; what it throws is not counted as a failure.
   * @returns The client's account; undefined if client or secret is wrong.
   * @throws {TooManyAttemptsError} {OverloadedError} Also what `admit` throws.
   */
  async checkClient(
    caller: Caller,
    spellings: readonly ClientCredentials[],
    admit: (client: Account) => Promise<void> = async () => {},
  ): Promise<Account | undefined> {
    const known = spellings.find(({ id }) => this.#accounts.find('client', id) !== undefined)
    const { id } = known ?? spellings[0] ?? { id: '' }
    return this.#check(caller, 'client', id, async (found, path) => {
      for (const spelling of spellings) {
        if (spelling.id !== id || !(await this.#isClientSecret(found, spelling.secret, path))) continue
        if (found !== undefined) await admit(found)
        return true
      }
      return false
    })
  }

  /** @param isRight Gets the path in the queue of passwords. */
  async #check(
    caller: Caller,
    kind: AccountKind,
    name: string,
    isRight: (account: Account | undefined, path: readonly string[]) => Promise<boolean>,
  ): Promise<Account | undefined> {
    const account = this.#accounts.find(kind, name)
    const network = networkOf(caller.address)
    // By the secret, too: whoever knew the one before keeps no advantage.
    const knownAs = account && `${kind} ${name} ${hash('sha256', account.secret, 'base64url')}`
    const isKnown = knownAs !== undefined && this.#knownNetworks.has(knownAs, network)
    // An unknown name is not logged: people type passwords into the wrong field.
    const fields = { account: account?.name }
    const tell = (outcome: Exclude<keyof LoginCounters, 'ok'>, reason?: string) => {
      this.logins[kind][outcome].increment()
      return this.#attempts.failed(checkEvents[kind][outcome], caller, fields, reason)
    }
    let attempt: Attempt
    try {
      attempt = this.#throttles[kind].begin(caller.address, name, { stored: account?.secret, isKnown })
    } catch (error) {
      await tell('throttled')
      throw error
    }
    try {
      if (!(await isRight(account, queuePath(caller, isKnown)))) {
        attempt.fail()
        await tell('failed')
        return undefined
      }
    } catch (error) {
      attempt.cancel()
      if (error instanceof OverloadedError) await tell('not_checked', String(error.cause ?? error.message))
      throw error
    }
    attempt.succeed()
    if (knownAs !== undefined) this.#knownNetworks.add(knownAs, network)
    this.logins[kind].ok.increment()
    return account
  }

  /** If some client has a slow hash, a wrong secret takes as long for every client, known or not. */
  async #isClientSecret(
    client: Account | undefined,
    secret: string,
    path: readonly string[],
  ): Promise<boolean> {
    if (client !== undefined && !client.secret.startsWith('sha256:'))
      return verifyPassword(secret, client.secret, path)
    const isRight = isSameText(digestSecret(secret), client?.secret ?? '')
    if (!isRight && this.#accounts.hasChosenClientSecret) await verifyPassword(secret, dummyHash, path)
    return isRight
  }
}

/**
 * In the queue of passwords. The networks that are known for their account share every second turn, so that a flood from
 * others hardly delays them. They get no more: somebody who has an account must not keep out those who log in from a new
 * network. Addresses within a /64 take turns, too, for those who share one.
 */
export function queuePath({ address }: Pick<Caller, 'address'>, isKnown: boolean): readonly string[] {
  return [isKnown ? 'known' : 'unknown', ...networksOf(address), address]
}

/**
 * The networks from which each account has lately logged in. Attackers elsewhere must not keep the account out of these.
 * Only in memory: a restart forgets them, as it forgets failed attempts.
 */
export class KnownNetworks {
  readonly #clock: Pick<Clock, 'elapsed'>
  /** By account and hashed network, the time of the last login; the least recent comes first in both. */
  readonly #accounts = new Map<string, Map<string, number>>()
  #count = 0

  constructor(clock: Pick<Clock, 'elapsed'>) {
    this.#clock = clock
  }

  /** Remembers a login for KNOWN_NETWORK_MS. May forget the least recent network of this account, or of another. */
  add(account: string, network: string): void {
    const networks = this.#accounts.get(account) ?? new Map<string, number>()
    this.#accounts.delete(account)
    this.#accounts.set(account, networks)
    const key = keyOf(account, network)
    if (!networks.delete(key)) this.#count += 1
    networks.set(key, this.#clock.elapsed())
    if (networks.size > ACCOUNT_KNOWN_NETWORKS_MAX) this.#forgetOne(account)
    if (this.#count > KNOWN_NETWORKS_MAX) {
      const [leastRecent = account] = this.#accounts.keys()
      this.#forgetOne(leastRecent)
    }
  }

  has(account: string, network: string): boolean {
    const last = this.#accounts.get(account)?.get(keyOf(account, network))
    return last !== undefined && this.#clock.elapsed() - last < KNOWN_NETWORK_MS
  }

  #forgetOne(account: string) {
    const networks = this.#accounts.get(account)
    const [leastRecent = ''] = networks?.keys() ?? []
    if (networks?.delete(leastRecent)) this.#count -= 1
    if (networks?.size === 0) this.#accounts.delete(account)
  }
}

/** Hashed, so that a copy of the memory does not show where people have been. */
function keyOf(account: string, network: string): string {
  return hash('sha256', `${account}\0${network}`, 'base64url')
}

/** Attempts by outcome. */
export type LoginCounters = Readonly<ReturnType<typeof createOutcomes>>

function createOutcomes() {
  return { ok: new Counter(), failed: new Counter(), throttled: new Counter(), not_checked: new Counter() }
}

export function createLoginCounters(): Record<AccountKind, LoginCounters> {
  return { user: createOutcomes(), client: createOutcomes() }
}

export function loginMetrics(counters: Readonly<Record<AccountKind, LoginCounters>>): Family[] {
  return [
    {
      name: 'connbook_logins_total',
      help: 'Checks of the password of a user or the secret of a client, for a login, a token, its revocation or a new password, by outcome: ok, failed, throttled (after too many failures) or not_checked (too many were waiting, or no thread could be started for them).',
      type: 'counter',
      labels: ['kind', 'outcome'],
      samples: () =>
        Object.entries(counters).flatMap(([kind, byOutcome]) =>
          Object.entries(byOutcome).map(([outcome, counter]) => ({
            labels: { kind, outcome },
            value: counter.value,
          })),
        ),
    },
  ]
}
