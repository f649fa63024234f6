import type { Clock } from './clock.ts'

/** Credentials that ended before they expired. */
export interface Revocations {
  /** Decides what has expired; never behind the latest moment that is stored. */
  readonly clock: Clock
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
  /**
   * Stores the present moment: what has expired stays so if the clock is set back and the process killed.
   *
   * @param exp When the credential expired, in seconds since 1970.
   */
  rememberExpired(exp: number): void
  /** Resolves once `rememberExpired` has written or failed; undefined while it writes nothing. Never rejects. */
  readonly remembering: Promise<void> | undefined
  close(): Promise<void>
}
