import type { IncomingMessage } from 'node:http'
import { Problem } from '../http/problem.ts'

/** Fields of which a second one would make the request mean two things. */
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

/** What Node's parser lets through and a server must not (RFC 9112); undefined for a sound request. */
export function findFramingFault(incoming: IncomingMessage): Problem | undefined {
  if (incoming.httpVersion !== '1.1' && incoming.httpVersion !== '1.0') {
    return malformed('unsupported_version', `HTTP ${incoming.httpVersion} is not spoken here; use HTTP/1.1`)
  }
  const target = incoming.url ?? ''
  if (!target.startsWith('/') || target.startsWith('//') || target.includes('#')) {
    return malformed('malformed_target', 'The request target must be a path, without host or fragment')
  }
  const doubled = findDoubled(incoming)
  if (doubled !== undefined) return malformed('doubled_header', `The header ${doubled} is given twice`)
  const { host, expect, 'transfer-encoding': coding } = incoming.headers
  if (host === undefined && incoming.httpVersion === '1.1') {
    return malformed('missing_host', 'The header Host is missing')
  }
  if (host !== undefined && !/^[\w.~%!$&'()*+,;=:[\]-]*$/.test(host)) {
    return malformed('malformed_host', 'The header Host does not name a host')
  }
  if (coding !== undefined && (coding.toLowerCase() !== 'chunked' || incoming.httpVersion === '1.0')) {
    return malformed(
      'unsupported_transfer_coding',
      'The only Transfer-Encoding taken is chunked, with HTTP/1.1',
    )
  }
  if (expect !== undefined && expect.toLowerCase() !== '100-continue') {
    return new Problem(417, 'unknown_expectation', 'The only Expect that can be met is 100-continue')
  }
  return undefined
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

function malformed(code: string, message: string): Problem {
  return new Problem(400, code, message)
}
