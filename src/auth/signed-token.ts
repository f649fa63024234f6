import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import { isScope, type Scope } from '../http/scope.ts'
import { isObject, parseJson } from '../json.ts'
import { isSameText } from './secret.ts'

/** The claims of a token (RFC 7519 section 4.1); times in whole seconds since 1970. */
export interface Claims {
  readonly iss: string
  /** User name or client id. */
  readonly sub: string
  readonly aud: 'session' | 'api'
  readonly iat: number
  /** The token has expired if `exp <= now`. */
  readonly exp: number
  readonly jti: string
  /** Generation of the account when the token was issued. */
  readonly gen: number
  /** Absent in tokens from before scopes. */
  readonly scope?: Scope
}

export interface SigningKey {
  /** The encoded header that every token of this key has. */
  readonly header: string
  readonly secret: KeyObject
}

export function createSigningKey(id: string, secret: Buffer): SigningKey {
  return {
    header: encode(JSON.stringify({ alg: 'HS256', typ: 'JWT', kid: id })),
    secret: createSecretKey(secret),
  }
}

/** Signs claims with HMAC-SHA-256, as a JWT in compact serialization (RFC 7515 section 3.1). */
export function signToken(claims: Claims, key: SigningKey): string {
  const signed = `${key.header}.${encode(JSON.stringify(claims))}`
  return `${signed}.${mac(signed, key)}`
}

/**
 * Returns the claims of a token that one of the keys signed, undefined for any other text. Does not check times.
 *
 * The header is only compared with that of each key and never parsed, so a token cannot choose its algorithm. The
 * signature is compared as text, so a token has exactly one spelling.
 */
export function verifyToken(token: string, keys: readonly SigningKey[]): Claims | undefined {
  const headerEnd = token.indexOf('.')
  const signedEnd = token.lastIndexOf('.')
  const header = token.slice(0, headerEnd)
  const key = keys.find((candidate) => candidate.header === header)
  if (key === undefined || signedEnd <= headerEnd) return undefined
  const signed = token.slice(0, signedEnd)
  if (!isSameText(mac(signed, key), token.slice(signedEnd + 1))) return undefined
  const payload = Buffer.from(token.slice(headerEnd + 1, signedEnd), 'base64url').toString('utf8')
  return parseClaims(parseJson(payload))
}

function encode(text: string): string {
  return Buffer.from(text).toString('base64url')
}

function mac(signed: string, key: SigningKey): string {
  return createHmac('sha256', key.secret).update(signed).digest('base64url')
}

function parseClaims(input: unknown): Claims | undefined {
  if (!isObject(input)) return undefined
  const { iss, sub, aud, iat, exp, jti, gen, scope } = input
  if (typeof iss !== 'string' || typeof sub !== 'string' || typeof jti !== 'string') return undefined
  if (aud !== 'session' && aud !== 'api') return undefined
  if (typeof iat !== 'number' || typeof exp !== 'number' || typeof gen !== 'number') return undefined
  if (scope === undefined) return { iss, sub, aud, iat, exp, jti, gen }
  return isScope(scope) ? { iss, sub, aud, iat, exp, jti, gen, scope } : undefined
}
