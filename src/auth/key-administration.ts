import type { AuditTrail } from '../audit/audit-trail.ts'
import type { Request } from '../http/message.ts'
import { senderOf } from '../store/authorship.ts'
import { replaceKeys, rotateKeys } from './key-rotation.ts'
import type { StoredKey } from './keys.ts'
import type { LiveKeys } from './live-keys.ts'

export interface RotatedKeys {
  /** Signs from now on. */
  readonly signing: StoredKey
  /** Signed before, and verifies until what it signed has expired. */
  readonly superseded: StoredKey
}

/** What the owner sees and changes of the keys. A change resolves once the next request is checked by it. */
export class KeyAdministration {
  readonly #keys: Pick<LiveKeys, 'all' | 'change'>
  readonly #audit: Pick<AuditTrail, 'record'>

  constructor(keys: Pick<LiveKeys, 'all' | 'change'>, audit: Pick<AuditTrail, 'record'>) {
    this.#keys = keys
    this.#audit = audit
  }

  /** The keys that have not ended; the first signs. */
  list(): readonly StoredKey[] {
    return this.#keys.all
  }

  /**
   * Signs with a new key; sessions and tokens stay valid.
   *
   * @param request Who asks for it.
   * @throws {TooManyKeysError} {StorageFullError} {StorageUnavailableError} {OutcomeUnknownError} {OverloadedError}
   */
  async rotate(request: Request): Promise<RotatedKeys> {
    const { before, after } = await this.#keys.change('Cannot rotate the keys', rotateKeys)
    const [signing] = after
    const superseded = after.find(({ id }) => id === before[0]?.id)
    if (signing === undefined || superseded === undefined) throw new Error('A rotation has lost its keys')
    await this.#audit.record('keys_rotated', senderOf(request), { key: signing.id })
    return { signing, superseded }
  }

  /** Puts a new key in place of all, which ends every session and token. @throws as `rotate` does. */
  async revokeAll(request: Request): Promise<StoredKey> {
    const { after } = await this.#keys.change('Cannot replace the keys', replaceKeys)
    const [signing] = after
    if (signing === undefined) throw new Error('A replacement has lost its key')
    await this.#audit.record('keys_revoked', senderOf(request), { key: signing.id })
    return signing
  }
}
