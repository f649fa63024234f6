import type { SharedDocument } from '../files/shared-document.ts'
import type { Log } from '../log.ts'
import type { Clock } from './clock.ts'
import { endOfTokens, extendKey, hasEnded, secondsOf } from './key-rotation.ts'
import { type StoredKey, toSigningKey } from './keys.ts'
import type { SigningKey } from './signed-token.ts'

/** The current keys: changes to what is stored are taken up, ended keys dropped. */
export interface LiveKeys {
  readonly signing: SigningKey
  /** The keys that verify, `signing` included; a new array whenever they change. */
  readonly verifying: readonly SigningKey[]
  /** As `Follower.catchUp`. */
  catchUp(): Promise<void> | undefined
  /** Resolves once no write is under way. */
  close(): Promise<void>
}

/**
 * Follows the stored keys. An empty list takes effect at the next start only.
 *
 * @param keys As last read; at least one.
 * @param clock Decides when a key has ended.
 */
export function followKeys(
  document: SharedDocument<readonly StoredKey[]>,
  keys: readonly StoredKey[],
  clock: Clock,
  log: Log,
): LiveKeys {
  let stored: readonly StoredKey[] = []
  let current = { signing: toSigningKey(first(keys)), verifying: [] as readonly SigningKey[] }
  let nextEnd = 0
  let extending: Promise<void> = Promise.resolve()
  put(keys)

  const follower = document.follow({
    content: keys,
    findFault: ({ length }) =>
      length === 0
        ? { reason: 'it holds no key', advice: 'start connbook anew, which makes one' }
        : undefined,
    takeUp(changed) {
      const signed = first(stored)
      const end = endOfTokens(signed, secondsOf(clock.now()))
      const extended = extendKey(changed, signed.id, end)
      put(extended)
      log.info('keys_reloaded', { signs: first(stored).id, keys: current.verifying.length })
      if (extended !== changed) extending = extend(signed.id, end)
    },
    log,
  })

  function put(changed: readonly StoredKey[]) {
    const now = secondsOf(clock.now())
    stored = changed.filter((key) => !hasEnded(key, now))
    const verifying = stored.map(toSigningKey)
    current = { signing: verifying[0] ?? current.signing, verifying }
    nextEnd = Math.min(...stored.map(({ until }) => until ?? Number.POSITIVE_INFINITY))
  }

  /** Tokens that this server signed before it saw the change must stay valid after a restart. */
  async function extend(id: string, end: number) {
    try {
      await document.edit((found) => extendKey(found, id, end))
    } catch (error) {
      log.error('keys_not_stored', { key: id, reason: String(error) })
    }
  }

  return {
    get signing() {
      return current.signing
    },
    get verifying() {
      if (nextEnd < Number.POSITIVE_INFINITY && nextEnd <= secondsOf(clock.now())) put(stored)
      return current.verifying
    },
    catchUp: () => follower.catchUp(),
    close() {
      follower.close()
      return extending
    },
  }
}

function first(keys: readonly StoredKey[]): StoredKey {
  const [key] = keys
  if (key === undefined) throw new Error('there is no signing key')
  return key
}
