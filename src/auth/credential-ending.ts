import type { AuditTrail } from '../audit/audit-trail.ts'
import type { Caller } from '../http/message.ts'
import { Problem } from '../http/problem.ts'
import type { Log } from '../log.ts'
import { senderOf } from '../store/authorship.ts'
import type { Revocations } from './ended-credentials.ts'
import type { LiveAccounts } from './live-accounts.ts'
import type { VerifiedClaims } from './token-verifier.ts'

/** Minimum time between two times that all credentials of an account are ended; each writes the file of accounts. */
export const CREDENTIALS_ENDED_PAUSE_MS = 60_000

/**
 * Ends single credentials: lists them until they expire. If an account has too many in the list, all its sessions and
 * tokens are ended instead, and its part of the list is dropped: nobody can fill the list for others.
 */
export class CredentialEnding {
  readonly #accounts: Pick<LiveAccounts, 'endCredentials'>
  readonly #revocations: Revocations
  readonly #audit: Pick<AuditTrail, 'record'>
  readonly #log: Log
  /** By generation. */
  readonly #running = new Map<number, Promise<void>>()
  /** The last general end of each account, in `elapsed` of the clock; oldest first. */
  readonly #ended = new Map<string, number>()

  constructor(
    accounts: Pick<LiveAccounts, 'endCredentials'>,
    revocations: Revocations,
    audit: Pick<AuditTrail, 'record'>,
    log: Log,
  ) {
    this.#accounts = accounts
    this.#revocations = revocations
    this.#audit = audit
    this.#log = log
  }

  /**
   * Resolves once the credential has ended, durably.
   *
   * @throws {Problem} 503 if the account has ended too many, and its last general end was less than
   *   CREDENTIALS_ENDED_PAUSE_MS ago. Also what `Journal.append` and `LiveAccounts.endCredentials` throw.
   */
  end(claims: VerifiedClaims, caller: Caller): Promise<void> {
    const { jti, exp, gen } = claims
    const all = this.#running.get(gen)
    if (all !== undefined) return all
    if (this.#revocations.hasRoom(gen)) return this.#revocations.add(jti, exp)
    const ending = this.#endAll(claims, caller).finally(() => this.#running.delete(gen))
    this.#running.set(gen, ending)
    return ending
  }

  async #endAll({ gen, principal: { kind, name } }: VerifiedClaims, caller: Caller) {
    const now = this.#revocations.clock.elapsed()
    for (const [account, at] of this.#ended) {
      if (now - at < CREDENTIALS_ENDED_PAUSE_MS) break
      this.#ended.delete(account)
    }
    const account = `${kind} ${name}`
    if (this.#ended.has(account)) {
      const seconds = Math.ceil(CREDENTIALS_ENDED_PAUSE_MS / 1000)
      throw new Problem(
        'overloaded',
        `Cannot end the credential: this account has ended too many; try again in ${seconds} s`,
        { headers: { 'Retry-After': String(seconds) } },
      )
    }
    const hasRaised = await this.#accounts.endCredentials(kind, name, gen)
    this.#revocations.dropGeneration(gen)
    if (!hasRaised) return
    this.#ended.set(account, now)
    this.#log.warn('credentials_ended', {
      kind,
      account: name,
      address: caller.address,
      request_id: caller.requestId,
    })
    await this.#audit.record('credentials_ended', senderOf(caller), { account: name })
  }
}
