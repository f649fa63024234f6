import type { IncomingMessage } from 'node:http'
import { isAuthority } from '../http/header-fields.ts'
import { Problem } from '../http/problem.ts'
import { HEADER_BYTES_MAX, HEADER_FIELDS_MAX } from '../limits.ts'

/** Fields that make a request ambiguous if they occur twice. */
const SINGLETONS = new Set([
  'host',
  'authorization',
  'content-type',
  'content-length',
  'content-encoding',
  'transfer-encoding',
  'origin',
  'sec-fetch-site',
])

/** The last one found to be well-formed: nearly all requests to a server have the same. */
let lastHost: string | undefined

/** Counted as names and values. */
const MANY_HEADERS = 200

/** Finds what Node's parser accepts, but a server must reject (RFC 9112). */
export function findFramingFault(incoming: IncomingMessage): Problem | undefined {
  const { httpVersion } = incoming
  if (httpVersion !== '1.1' && httpVersion !== '1.0') {
    return new Problem('unsupported_version', `HTTP ${httpVersion} is not spoken here; use HTTP/1.1`)
  }
  const { url: target = '', method = '' } = incoming
  if (originFormOf(target, method, incoming.headers.host) === undefined) return malformedTarget(target)
  if (isHeaderTooLarge(incoming)) return headerTooLarge()
  const doubled = findDoubled(incoming)
  if (doubled !== undefined) return new Problem('doubled_header', `The header ${doubled} is given twice`)
  const { host, expect, 'transfer-encoding': coding } = incoming.headers
  if (host === undefined) {
    if (httpVersion === '1.1') return new Problem('missing_host', 'The header Host is missing')
  } else if (host !== lastHost) {
    if (!isAuthority(host)) return new Problem('malformed_host', 'The header Host does not name a host')
    lastHost = host
  }
  if (coding !== undefined && (coding.toLowerCase() !== 'chunked' || httpVersion === '1.0')) {
    return new Problem(
      'unsupported_transfer_coding',
      'The only Transfer-Encoding taken is chunked, with HTTP/1.1',
    )
  }
  if (expect !== undefined && expect.toLowerCase() !== '100-continue') {
    return new Problem('unknown_expectation', 'The only Expect that can be met is 100-continue')
  }
  return undefined
}

function malformedTarget(target: string): Problem {
  const fault = target.includes('#')
    ? 'has a fragment; leave out the # and what follows it'
    : target.startsWith('//')
      ? 'begins with a slash too many; write one'
      : 'is no path of this server; send a path, or a URL with the same host as the header Host'
  return new Problem('malformed_target', `The request target ${fault}`)
}

export function headerTooLarge(): Problem {
  const message = `Request line and headers are longer than ${HEADER_BYTES_MAX} bytes, or more than ${HEADER_FIELDS_MAX} fields`
  return new Problem('header_too_large', message)
}

export function requestTimeout(): Problem {
  return new Problem('request_timeout', 'The request took too long to arrive')
}

/** Node's parser does not count the separators, which add up over many fields. */
function isHeaderTooLarge({ rawHeaders }: IncomingMessage): boolean {
  if (rawHeaders.length <= MANY_HEADERS) return false
  return rawHeaders.reduce((bytes, text) => bytes + text.length + 2, 0) > HEADER_BYTES_MAX
}

function findDoubled({ headers, rawHeaders }: IncomingMessage): string | undefined {
  let names = 0
  for (const _ in headers) names += 1
  if (2 * names === rawHeaders.length) return undefined
  const seen = new Set<string>()
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]?.toLowerCase() ?? ''
    if (!SINGLETONS.has(name)) continue
    if (seen.has(name)) return name
    seen.add(name)
  }
  return undefined
}

const ABSOLUTE_FORM = /^(https?):\/\/([^/?#]+)(.*)$/i

/** The path of `OPTIONS *`, which asks about the server as a whole. */
export const WHOLE_SERVER = '*'

/**
 * The path and query of a request target (RFC 9112 section 3.2), or WHOLE_SERVER.
 *
 * @param target In absolute form its authority must be the Host; either side may leave out the port of the scheme.
 * @returns undefined for every other target.
 */
export function originFormOf(target: string, method: string, host: string | undefined): string | undefined {
  if (target.startsWith('/')) return isPath(target) ? target : undefined
  if (target === WHOLE_SERVER) return method === 'OPTIONS' ? target : undefined
  const [, scheme = '', authority = '', rest = ''] = ABSOLUTE_FORM.exec(target) ?? []
  if (!isHost(scheme, authority, host)) return undefined
  if (rest === '') return method === 'OPTIONS' ? WHOLE_SERVER : '/'
  const path = rest.startsWith('?') ? `/${rest}` : rest
  return isPath(path) ? path : undefined
}

function isPath(text: string): boolean {
  return text.startsWith('/') && !text.startsWith('//') && !text.includes('#')
}

function isHost(scheme: string, authority: string, host: string | undefined): boolean {
  if (host === undefined || !isAuthority(authority)) return false
  const named = URL.parse(`${scheme}://${authority}`)
  return named !== null && named.host === URL.parse(`${scheme}://${host}`)?.host
}
