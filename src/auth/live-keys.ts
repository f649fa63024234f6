import type { SharedDocument } from '../files/shared-document.ts'
import type { Log } from '../log.ts'
import type { Clock } from './clock.ts'
import { endOfTokens, extendKey, hasEnded, secondsOf } from './key-rotation.ts'
import { type StoredKey, toSigningKey } from './keys.ts'
import { throwForCaller } from './live-accounts.ts'
import type { SigningKey } from './signed-token.ts'

/** The current keys: changes to what is stored are taken up, ended keys dropped. */
export class LiveKeys {
  readonly #document: SharedDocument<readonly StoredKey[]>
  readonly #clock: Clock
  readonly #log: Log
  readonly #unfollow: () => void
  #stored: readonly StoredKey[] = []
  #current: { readonly signing: SigningKey; readonly verifying: readonly SigningKey[] }
  #nextEnd = 0
  #extending: Promise<void> = Promise.resolve()

  /**
   * Follows the stored keys. An empty list takes effect at the next start only.
   *
   * @param keys As last read; at least one.
   * @param clock Decides when a key has ended.
   */
  constructor(
    document: SharedDocument<readonly StoredKey[]>,
    keys: readonly StoredKey[],
    clock: Clock,
    log: Log,
  ) {
    this.#document = document
    this.#clock = clock
    this.#log = log
    this.#current = { signing: toSigningKey(first(keys)), verifying: [] }
    this.#put(keys)
    this.#unfollow = document.follow({
      content: keys,
      findFault: ({ length }) =>
        length === 0
          ? { reason: 'it holds no key', advice: 'start connbook anew, which makes one' }
          : undefined,
      takeUp: (changed) => this.#takeUp(changed),
      log,
    })
  }

  get signing(): SigningKey {
    return this.#current.signing
  }

  /** The keys that verify, `signing` included; a new array whenever they change. */
  get verifying(): readonly SigningKey[] {
    if (this.#nextEnd < Number.POSITIVE_INFINITY && this.#nextEnd <= secondsOf(this.#clock.now()))
      this.#put(this.#stored)
    return this.#current.verifying
  }

  /** Those that have not ended; the first signs. */
  get all(): readonly StoredKey[] {
    const now = secondsOf(this.#clock.now())
    return this.#stored.filter((key) => !hasEnded(key, now))
  }

  /**
   * Puts other keys in place of all. Resolves once that is durable, and they sign and verify here.
   *
   * @param what Begins the messages of errors: "Cannot rotate the keys".
   * @param change Gets the keys that are stored, or those in force if none is, and the time in seconds since 1970.
   * @throws as `throwForCaller` does, and what `change` throws of its own for a caller.
   */
  async change(
    what: string,
    change: (found: readonly StoredKey[], now: number) => readonly StoredKey[],
  ): Promise<{ readonly before: readonly StoredKey[]; readonly after: readonly StoredKey[] }> {
    let before = this.#stored
    const decide = (found: readonly StoredKey[]) => {
      before = found.length === 0 ? this.#stored : found
      return change(before, secondsOf(this.#clock.now()))
    }
    const { after } = await this.#document.edit(decide).catch((error: unknown) => throwForCaller(what, error))
    return { before, after }
  }

  /** Resolves once no write is under way. */
  close(): Promise<void> {
    this.#unfollow()
    return this.#extending
  }

  #takeUp(changed: readonly StoredKey[]) {
    const signed = first(this.#stored)
    const end = endOfTokens(signed, secondsOf(this.#clock.now()))
    const extended = extendKey(changed, signed.id, end)
    this.#put(extended)
    if (extended !== changed) this.#extending = this.#extend(signed.id, end)
  }

  #put(changed: readonly StoredKey[]) {
    const now = secondsOf(this.#clock.now())
    this.#stored = changed.filter((key) => !hasEnded(key, now))
    const verifying = this.#stored.map(toSigningKey)
    this.#current = { signing: verifying[0] ?? this.#current.signing, verifying }
    this.#nextEnd = Math.min(...this.#stored.map(({ until }) => until ?? Number.POSITIVE_INFINITY))
  }

  /** Tokens that this server signed before it saw the change must stay valid after a restart. */
  async #extend(id: string, end: number) {
    try {
      await this.#document.edit((found) => extendKey(found, id, end))
    } catch (error) {
      this.#log.error('keys_not_stored', { key: id, reason: String(error) })
    }
  }
}

function first(keys: readonly StoredKey[]): StoredKey {
  const [key] = keys
  if (key === undefined) throw new Error('there is no signing key')
  return key
}
