import { randomBytes } from 'node:crypto'

const SANE = /^[\w.:/+=@-]{1,128}$/

/** Makes ids for answers and logs: the caller's `X-Request-Id` if it is safe, else one unique across processes. */
export function createRequestIds(): (header: string | readonly string[] | undefined) => string {
  const prefix = randomBytes(6).toString('base64url')
  let count = 0
  return (header) => {
    if (typeof header === 'string' && SANE.test(header)) return header
    count += 1
    return `${prefix}-${count}`
  }
}
