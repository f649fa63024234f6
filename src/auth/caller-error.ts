import {
  isNoRoom,
  OutcomeUnknownError,
  OverloadedError,
  StorageFullError,
  StorageUnavailableError,
  systemCode,
} from '../errors.ts'
import { DocumentBusyError } from '../files/shared-document.ts'

/**
 * Makes of an error of the storage what a caller may know: no path and no host.
 *
 * @param what Begins the message: "Cannot change the password".
 */
export function throwForCaller(what: string, error: unknown): never {
  const cause = error
  if (error instanceof DocumentBusyError)
    throw new OverloadedError(`${what}: a command changes accounts; try again in a moment`)
  if (error instanceof OutcomeUnknownError)
    throw new OutcomeUnknownError(`${what}: nobody can know whether it is done; look, and try again`, {
      cause,
    })
  if (error instanceof StorageFullError)
    throw new StorageFullError(`${what}: no room is left in the storage`, { cause })
  if (error instanceof StorageUnavailableError)
    throw new StorageUnavailableError(`${what}: the storage does not answer`, { cause })
  const code = systemCode(error)
  if (code === undefined) throw error
  if (isNoRoom(code)) throw new StorageFullError(`${what}: no room is left on the disk`, { cause })
  throw new StorageUnavailableError(`${what}: the disk failed`, { cause })
}
