import { randomBytes } from 'node:crypto'

const SANE = /^[\w.:/+=@-]{1,128}$/

/**
 * Gives each request a name that its answer and the logs carry: the caller's own `X-Request-Id` when that is one word
 * of at most 128 harmless characters, else one that no other request of any process has.
 */
export function createRequestIds(): (header: string | readonly string[] | undefined) => string {
  const prefix = randomBytes(6).toString('base64url')
  let count = 0
  return (header) => {
    if (typeof header === 'string' && SANE.test(header)) return header
    count += 1
    return `${prefix}-${count}`
  }
}
