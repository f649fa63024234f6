import { isAuthority } from '../http/header-fields.ts'

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
