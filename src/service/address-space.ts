import { readFileSync } from 'node:fs'
import { ConnbookError, systemCode } from '../errors.ts'
import { ADDRESS_SPACE_MIB_MIN } from '../limits.ts'

const MEBIBYTE = 1024 * 1024

/** The process may not reserve as much address space as its threads need. */
export class AddressSpaceError extends ConnbookError {
  readonly code = 'address_space_short'
}

/**
 * Checks the limit on address space (RLIMIT_AS in getrlimit(2)). V8 reserves much more of it than it uses, and ends the
 * whole process if that fails when the thread that checks passwords starts: at anybody's first login.
 *
 * @param limits As in /proc/PID/limits.
 * @throws {AddressSpaceError} if it is less than ADDRESS_SPACE_MIB_MIN.
 */
export function checkAddressSpace(limits = readLimits()): void {
  const bytes = /^Max address space +(\d+)/m.exec(limits)?.[1]
  const mebibytes = Math.floor(Number(bytes) / MEBIBYTE)
  if (bytes === undefined || mebibytes >= ADDRESS_SPACE_MIB_MIN) return
  throw new AddressSpaceError(
    `Cannot serve with an address space of ${mebibytes} MiB: a login could end the server; raise the limit (ulimit -v, LimitAS=) to ${ADDRESS_SPACE_MIB_MIN} MiB or more, or limit memory with MemoryMax= instead`,
  )
}

/** Empty where there is no such file. */
function readLimits(): string {
  try {
    return readFileSync('/proc/self/limits', 'utf8')
  } catch (error) {
    if (systemCode(error) !== undefined) return ''
    throw error
  }
}
