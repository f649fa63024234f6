import type { X509Certificate } from 'node:crypto'
import { ConnbookError } from '../errors.ts'
import type { Log } from '../log.ts'
import type { Service } from './service.ts'
import { warnOfDates } from './start-checks.ts'
import { readTlsFiles, type TlsPaths } from './tls-files.ts'

/** Reads certificate and key again; an error is logged and changes nothing. */
export function reloadTls(paths: TlsPaths, service: Service, log: Log): void {
  try {
    const pair = readTlsFiles(paths)
    service.useCertificate(pair)
    log.info('tls_reloaded', describe(pair.certificate))
    warnOfDates(pair.certificate, log)
  } catch (error) {
    // An unforeseen error must not end the server either.
    const reason = error instanceof ConnbookError ? error.message : String(error)
    log.error('tls_reload_failed', { reason, in_force: 'the certificate from before' })
  }
}

function describe(certificate: X509Certificate) {
  return {
    // OpenSSL puts each part on a line; undefined if the certificate has only names.
    subject: certificate.subject?.replaceAll('\n', ', '),
    names: certificate.subjectAltName,
    valid_to: certificate.validToDate.toISOString(),
  }
}
