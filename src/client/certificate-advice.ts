import { escapeHidden } from '../text.ts'

/** A certificate can have hundreds. */
const NAMES_SHOWN = 5

/**
 * What to do about a certificate that is not trusted, as the end of a sentence.
 *
 * @param reason The code of the error. @see https://nodejs.org/api/tls.html#x509-certificate-error-codes
 */
export function adviceOnCertificate(reason: string, error: unknown): string {
  if (reason === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return `it is of another host${namesIn(error)}; name the server as its certificate does`
  if (reason === 'CERT_HAS_EXPIRED')
    return 'it, or that of its authority, has expired; renew it at the server, or set the clock here'
  if (reason === 'CERT_NOT_YET_VALID') return 'it is not valid yet; set the clock here, or at the server'
  return 'give --ca FILE with the certificate of its authority'
}

function namesIn(error: unknown): string {
  const { cert } = error as { readonly cert?: { readonly subjectaltname?: string } }
  const names =
    cert?.subjectaltname?.split(', ').map((name) => name.replace(/^(?:DNS|IP Address):/, '')) ?? []
  if (names.length === 0) return ''
  const shown = names.slice(0, NAMES_SHOWN).map(escapeHidden).join(', ')
  return ` (${shown}${names.length > NAMES_SHOWN ? ', …' : ''})`
}
