import type { X509Certificate } from 'node:crypto'
import { CERTIFICATE_WARNING_DAYS } from '../limits.ts'
import type { Log } from '../log.ts'

const DAY_MS = 24 * 60 * 60 * 1000

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
