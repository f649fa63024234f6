import type { X509Certificate } from 'node:crypto'
import { ConnbookError } from '../errors.ts'
import type { Log } from '../log.ts'
import { warnOfDates } from './certificate-validity.ts'
import type { Service } from './service.ts'
import { readTlsFiles, type TlsPaths } from './tls-files.ts'

/** Reads certificate and key again; whatever is wrong with them changes nothing and is logged. */
export function reloadTls(paths: TlsPaths, service: Service, log: Log): void {
  try {
    const pair = readTlsFiles(paths)
    service.useCertificate(pair)
    log.info('tls_reloaded', describe(pair.certificate))
    warnOfDates(pair.certificate, log)
  } catch (error) {
    // What nobody foresaw must not end the server either.
    const reason = error instanceof ConnbookError ? error.message : String(error)
    log.error('tls_not_reloaded', { reason, in_force: 'the certificate from before' })
  }
}

function describe(certificate: X509Certificate) {
  return {
    // A line each in OpenSSL's form, and none at all where the names say everything.
    subject: certificate.subject?.replaceAll('\n', ', '),
    names: certificate.subjectAltName,
    valid_to: certificate.validToDate.toISOString(),
  }
}
