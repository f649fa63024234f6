import type { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { memoryNeededFor, recordMemoryMax } from '../budget.ts'
import { ConnbookError, systemCode } from '../errors.ts'
import { MEMORY_MIB_MIN } from '../limits.ts'
import type { Log } from '../log.ts'
import { isLoopback } from '../network.ts'

/** Address space, which V8 reserves for its threads and hardly uses. */
export const ADDRESS_SPACE_MIB_MIN = 3 * 1024

/** Less is what NTP corrects all the time. */
export const CLOCK_BEHIND_MS = 60_000

/** A certificate that expires sooner causes a warning. */
const CERTIFICATE_WARNING_DAYS = 14
const DAY_MS = 24 * 60 * 60 * 1000

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

/**
 * Warns if a server has less memory than MEMORY_MIB_MIN, or than its records may take.
 *
 * @param memory In bytes.
 * @param records Estimated bytes of those that are stored.
 */
export function warnOfShortMemory(
  memory: number,
  records: number,
  log: Log,
  recordsMax = recordMemoryMax(memory),
): void {
  const has = Math.floor(memory / MEBIBYTE)
  if (has >= MEMORY_MIB_MIN && records < recordsMax) return
  const needed = Math.max(MEMORY_MIB_MIN, records < recordsMax ? 0 : toMebibytes(memoryNeededFor(records)))
  log.warn('memory_short', {
    memory_mib: has,
    needed_mib: needed,
    remedy: `raise the limit of the service or container (MemoryMax=, --memory) to ${needed} MiB or more`,
  })
}

function toMebibytes(bytes: number): number {
  return Math.ceil(bytes / MEBIBYTE)
}

/** Warns if plain HTTP is served on an IP address that other machines can reach. */
export function warnOfPlainHttp(address: string, log: Log): void {
  if (isLoopback(address)) return
  log.warn('plain_http', {
    address,
    reason: 'anyone on the network can read passwords and tokens',
    remedy: 'give --tls-cert and --tls-key, or listen with --host 127.0.0.1 behind a proxy that speaks HTTPS',
  })
}

/** Warns of a certificate that is not valid at `now` (milliseconds since 1970), or expires soon. */
export function warnOfDates(certificate: X509Certificate, log: Log, now = Date.now()): void {
  const [from, to] = [certificate.validFromDate, certificate.validToDate]
  const valid_to = to.toISOString()
  const remedy = 'put a new certificate and its key in place, and send SIGHUP'
  if (now > to.getTime()) {
    log.warn('certificate_expired', { valid_to, reason: 'clients refuse it', remedy })
  } else if (now < from.getTime()) {
    const advice = 'see whether the clock of this machine is right, and wait, or send SIGHUP after a change'
    const valid_from = from.toISOString()
    log.warn('certificate_not_yet_valid', { valid_from, reason: 'clients refuse it', remedy: advice })
  } else if (to.getTime() - now < CERTIFICATE_WARNING_DAYS * DAY_MS) {
    log.warn('certificate_expires', { valid_to, days: Math.floor((to.getTime() - now) / DAY_MS), remedy })
  }
}

/** Moments that have passed, as the folder has them; in ms since 1970. */
interface PassedMoments {
  /** The clock of the sessions, which never goes back. */
  readonly session: number
  /** Latest time in the audit trail; undefined while it is empty. */
  readonly trail: number | undefined
}

/** Warns at a start if the machine's clock is behind a moment that has passed, so it was or is wrong. */
export function warnOfClock({ session, trail = 0 }: PassedMoments, log: Log, now = Date.now()): void {
  const latest = Math.max(session, trail)
  if (latest - now < CLOCK_BEHIND_MS) return
  const reason =
    trail > session
      ? 'the newest change is of a later time'
      : 'the clock was set back: an earlier run of the server saw a later time'
  log.warn('clock_behind', {
    latest: new Date(latest).toISOString(),
    reason,
    remedy:
      'see whether the clock of this machine is right; until that time, the history can show changes out of order',
  })
}
