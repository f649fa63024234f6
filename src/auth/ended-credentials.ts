import { randomBytes } from 'node:crypto'
import type { ClockFloor } from './clock.ts'

/** Ended credentials of an account, kept until they would have expired; for one more, all of the account are ended. */
export const ACCOUNT_REVOCATIONS_MAX = 10_000
/** Those of all accounts; beyond it, each logout ends all credentials of its account. */
const REVOCATIONS_MAX = 1_000_000
/** Ended credentials that a logout looks at, if there are too many, to drop expired ones. */
export const REVOCATIONS_DROPPED_AT_ONCE = 1_000

/** The credentials of one generation of an account. */
interface GenerationCredentials {
  /** By `jti`, when each would have expired, in seconds since 1970. */
  readonly expiries: Map<string, number>
  /** On their way to the disk. */
  pending: number
  /** None of `expiries` is earlier; a look for expired ones before it would find none. */
  earliest: number
  /** Whether all credentials of the generation have ended, so that none needs to be listed. */
  isOver: boolean
}

/** The `jti` of a new credential; its end is the generation of the account, which no two accounts share. */
export function createJti(generation: number): string {
  return `${randomBytes(12).toString('base64url')}.${generation}`
}

/** 0 for a `jti` of an earlier version. */
function generationOf(jti: string): number {
  return Number(jti.slice(jti.lastIndexOf('.') + 1)) || 0
}

/** The credentials that ended before they expired, by the generation of their account. */
export class EndedCredentials {
  readonly #max: number
  readonly #ofGenerationMax: number
  readonly #groups = new Map<number, GenerationCredentials>()
  #size = 0
  /** Goes through all groups again and again. */
  #sweep = this.#groups.entries()

  /** @param max For all generations together. */
  constructor(max = REVOCATIONS_MAX, ofGenerationMax = ACCOUNT_REVOCATIONS_MAX) {
    this.#max = max
    this.#ofGenerationMax = ofGenerationMax
  }

  get size(): number {
    return this.#size
  }

  has(jti: string): boolean {
    return this.#size > 0 && this.#groups.get(generationOf(jti))?.expiries.has(jti) === true
  }

  /** @param exp In seconds since 1970. */
  add(jti: string, exp: number): void {
    const group = this.#groupOf(generationOf(jti))
    if (group.isOver || group.expiries.has(jti)) return
    group.expiries.set(jti, exp)
    group.earliest = Math.min(group.earliest, exp)
    this.#size += 1
  }

  /**
   * Whether another credential of a generation may be listed, by the limits for a generation and for all. Drops expired ones
   * of this generation, and looks for some of others.
   *
   * @param now In seconds since 1970.
   */
  hasRoom(generation: number, now: number): boolean {
    if (this.#size >= this.#max) this.#dropSomeExpired(now)
    const group = this.#groups.get(generation)
    const isFull = () => group !== undefined && group.expiries.size + group.pending >= this.#ofGenerationMax
    if (group !== undefined && isFull() && group.earliest <= now) this.#dropExpiredOf(generation, group, now)
    return !isFull() && this.#size < this.#max
  }

  /** Counts a credential that is on its way to the disk; call the result once it is there, or has failed. */
  expect(jti: string): () => void {
    const generation = generationOf(jti)
    const group = this.#groupOf(generation)
    group.pending += 1
    return () => {
      group.pending -= 1
      this.#forgetIfEmpty(generation, group)
    }
  }

  /** Drops the credentials of a generation that is over, and those that are still on their way to the disk. */
  dropGeneration(generation: number): void {
    const group = this.#groups.get(generation)
    if (group === undefined) return
    this.#size -= group.expiries.size
    group.expiries.clear()
    group.isOver = true
    this.#forgetIfEmpty(generation, group)
  }

  /** @param now In seconds since 1970. */
  dropExpired(now: number): void {
    for (const [generation, group] of this.#groups) this.#dropExpiredOf(generation, group, now)
  }

  *[Symbol.iterator](): Iterator<[jti: string, exp: number]> {
    for (const { expiries } of this.#groups.values()) yield* expiries
  }

  #groupOf(generation: number): GenerationCredentials {
    const found = this.#groups.get(generation)
    if (found !== undefined) return found
    const group = { expiries: new Map(), pending: 0, earliest: Number.POSITIVE_INFINITY, isOver: false }
    this.#groups.set(generation, group)
    return group
  }

  /** Looks at a few groups only: a look at all would hold up other requests. */
  #dropSomeExpired(now: number) {
    for (let seen = 0; seen < REVOCATIONS_DROPPED_AT_ONCE; ) {
      const { value, done } = this.#sweep.next()
      if (done) {
        this.#sweep = this.#groups.entries()
        return
      }
      const [generation, group] = value
      seen += 1
      if (group.earliest > now) continue
      seen += group.expiries.size
      this.#dropExpiredOf(generation, group, now)
    }
  }

  #dropExpiredOf(generation: number, group: GenerationCredentials, now: number) {
    const { expiries } = group
    const before = expiries.size
    group.earliest = Number.POSITIVE_INFINITY
    for (const [jti, exp] of expiries) {
      if (exp <= now) expiries.delete(jti)
      else group.earliest = Math.min(group.earliest, exp)
    }
    this.#size -= before - expiries.size
    this.#forgetIfEmpty(generation, group)
  }

  #forgetIfEmpty(generation: number, { expiries, pending }: GenerationCredentials) {
    if (expiries.size === 0 && pending === 0) this.#groups.delete(generation)
  }
}

/** Credentials that ended before they expired; its clock decides what has expired. */
export interface Revocations extends ClockFloor {
  readonly isWritable: boolean
  has(jti: string): boolean
  /**
   * Ends a credential; resolves once that is durable.
   *
   * @param exp When it would have expired, in seconds since 1970.
   * @throws {StorageFullError} {StorageUnavailableError}
   */
  add(jti: string, exp: number): Promise<void>
  /** Whether another credential of a generation may be added, as `EndedCredentials` says. */
  hasRoom(generation: number): boolean
  /** Drops the credentials of a generation that no account has any more. */
  dropGeneration(generation: number): void
}
