import type { ClockFloor } from './clock-floor.ts'

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
