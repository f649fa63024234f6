import { checkMembers, isObject, parseJson } from '../json.ts'
import { refusedKey } from './cluster-error.ts'
import type { ClusterKeys } from './cluster-keys.ts'
import { EtcdError } from './etcd-error.ts'
import type { Gateway } from './gateway.ts'
import { type KeyValue, put, type WatchEvent } from './messages.ts'
import { asStorageError, callUntilSettled, changeEnd, transactUntilSettled } from './settled-transaction.ts'

/** Revocations that expire in the same such span share a lease. */
export const REVOCATION_LEASE_SECONDS = 3600
/** How far the clocks of nodes may differ: no revocation goes before its token has expired on each. */
export const REVOCATION_MARGIN_SECONDS = 3600

/** A credential that has ended. */
export interface Revoked {
  readonly jti: string
  /** When it would have expired, in seconds since 1970. */
  readonly exp: number
}

interface LeaseTimes {
  /** Revocations that expire in the same span share a lease. */
  readonly spanSeconds: number
  /** How much longer a lease lives than what it ends. */
  readonly marginSeconds: number
}

const WHAT = 'the ended credentials'

/** The revocations in etcd: a key for each, which goes some time after its credential has expired. */
export class RevokedKeys {
  readonly #gateway: Gateway
  readonly #keys: ClusterKeys
  readonly #times: LeaseTimes
  /** By the end of their span, in seconds since 1970. */
  readonly #leases = new Map<number, Promise<string>>()

  constructor(
    gateway: Gateway,
    keys: ClusterKeys,
    times: LeaseTimes = { spanSeconds: REVOCATION_LEASE_SECONDS, marginSeconds: REVOCATION_MARGIN_SECONDS },
  ) {
    this.#gateway = gateway
    this.#keys = keys
    this.#times = times
  }

  /**
   * Resolves once etcd keeps it.
   *
   * @param now In seconds since 1970.
   * @throws {StorageFullError} {StorageUnavailableError} {OutcomeUnknownError}
   */
  async add(revoked: Revoked, now: number): Promise<void> {
    const { spanSeconds } = this.#times
    const expiry = Math.ceil(revoked.exp / spanSeconds) * spanSeconds
    const end = changeEnd()
    try {
      await this.#put(revoked, await this.#leaseUntil(expiry, now, end), end)
    } catch (error) {
      if (!(error instanceof EtcdError)) throw error
      // The lease is gone, as after a restore of etcd: a new one is granted, once.
      this.#leases.delete(expiry)
      await this.#put(revoked, await this.#leaseUntil(expiry, now, end), end).catch((again: unknown) => {
        throw again instanceof EtcdError ? asStorageError(again, WHAT, false) : again
      })
    }
  }

  /** @throws {ClusterRefusedError} if it cannot be read. */
  parse({ key, value }: KeyValue): Revoked {
    try {
      return { jti: this.#keys.jtiOf(key) ?? '', exp: parseExpiry(value) }
    } catch (error) {
      throw refusedKey(key, this.#gateway, error)
    }
  }

  /** What an event of the watch adds; undefined for other keys. A key that is gone had expired. @throws as `parse`. */
  added(event: WatchEvent): Revoked | undefined {
    const isOurs = event.kind === 'put' && this.#keys.jtiOf(event.kv.key) !== undefined
    return isOurs ? this.parse(event.kv) : undefined
  }

  async #put({ jti, exp }: Revoked, lease: string, end: number): Promise<void> {
    const success = [put(this.#keys.revokedToken(jti), JSON.stringify({ exp }), lease)]
    await transactUntilSettled(this.#gateway, { compare: [], success, failure: [] }, WHAT, end)
  }

  #leaseUntil(expiry: number, now: number, end: number): Promise<string> {
    const known = this.#leases.get(expiry)
    if (known !== undefined) return known
    for (const past of this.#leases.keys()) if (past <= now) this.#leases.delete(past)
    const lease = this.#grant(Math.ceil(expiry - now) + this.#times.marginSeconds, end)
    this.#leases.set(expiry, lease)
    lease.catch(() => this.#leases.delete(expiry))
    return lease
  }

  /** A lease that is granted without an answer ends by itself. */
  async #grant(ttlSeconds: number, end: number): Promise<string> {
    const grant = () => this.#gateway.grantLease(ttlSeconds)
    return (await callUntilSettled(grant, { what: WHAT, end, isChange: false })).answer
  }
}

function parseExpiry(text: string): number {
  const input = parseJson(text)
  if (!isObject(input) || typeof input.exp !== 'number') throw new SyntaxError('it is no ended credential')
  checkMembers(input, ['exp'], 'an ended credential')
  return input.exp
}
