/** The value of `WWW-Authenticate` (RFC 6750 section 3). */
export const BEARER_CHALLENGE = 'Bearer realm="connbook"'
