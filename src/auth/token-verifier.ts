import type { AccountPrincipal } from '../http/message.ts'
import { ADMIN_SCOPE, narrower, WRITE_SCOPE } from '../http/scope.ts'
import { scopeOf } from './accounts.ts'
import type { Revocations } from './ended-credentials.ts'
import type { LiveAccounts } from './live-accounts.ts'
import type { LiveKeys } from './live-keys.ts'
import { type Claims, verifyToken } from './signed-token.ts'

/** Verified tokens that are cached, so that a steady caller costs no HMAC. */
export const VERIFIED_TOKENS_MAX = 10_000
/** All of them together: one with a long account name takes the place of several. Each takes up to 2.3 bytes a character. */
export const VERIFIED_TOKENS_CHARACTERS_MAX = 3_000_000

/** The `iss` of every token. */
export const ISSUER = 'connbook'

/** Verified claims; the scope is that of the account, or a narrower one of the token. */
export type VerifiedClaims = Claims & { readonly principal: AccountPrincipal }

/** Verifies tokens. Caches valid ones until accounts or keys change, but always checks expiry and revocation. */
export class TokenVerifier {
  readonly #accounts: Pick<LiveAccounts, 'find' | 'onChange'>
  readonly #keys: Pick<LiveKeys, 'verifying'>
  readonly #revocations: Revocations
  /** Tokens with a valid signature and account, oldest first. */
  readonly #verified = new Map<string, VerifiedClaims>()
  #characters = 0
  /** The keys that verified them. */
  #verifiedBy: LiveKeys['verifying']

  constructor(
    accounts: Pick<LiveAccounts, 'find' | 'onChange'>,
    keys: Pick<LiveKeys, 'verifying'>,
    revocations: Revocations,
  ) {
    this.#accounts = accounts
    this.#keys = keys
    this.#revocations = revocations
    this.#verifiedBy = keys.verifying
    accounts.onChange(() => this.#forgetAll())
  }

  /** @returns undefined if the token is not valid now, or has another `aud`. */
  verify(token: string, audience: Claims['aud']): VerifiedClaims | undefined {
    const { verifying } = this.#keys
    if (verifying !== this.#verifiedBy) this.#forgetAll()
    this.#verifiedBy = verifying
    const remembered = this.#verified.get(token)
    const claims = remembered ?? verifyToken(token, verifying)
    if (claims?.aud !== audience) return undefined
    const isExpired = claims.exp <= Math.floor(this.#revocations.clock.now() / 1000)
    if (isExpired) this.#revocations.rememberExpired(claims.exp)
    if (isExpired || this.#revocations.has(claims.jti)) {
      this.#forget(token)
      return undefined
    }
    return remembered ?? this.#admit(token, claims)
  }

  #admit(token: string, claims: Claims): VerifiedClaims | undefined {
    const kind = claims.aud === 'session' ? 'user' : 'client'
    const account = this.#accounts.find(kind, claims.sub)
    if (claims.iss !== ISSUER || account?.generation !== claims.gen) return undefined
    // A session may do what its account may do now; a token never more than it was issued for.
    const issued = claims.aud === 'session' ? ADMIN_SCOPE : (claims.scope ?? WRITE_SCOPE)
    const scope = narrower(issued, scopeOf(account))
    const { grants } = account
    const principal = { kind, name: claims.sub, scope, ...(grants === undefined ? {} : { grants }) } as const
    const found = { ...claims, principal }
    this.#remember(token, found)
    return found
  }

  #remember(token: string, claims: VerifiedClaims) {
    this.#verified.set(token, claims)
    this.#characters += token.length
    for (const oldest of this.#verified.keys()) {
      if (this.#verified.size <= VERIFIED_TOKENS_MAX && this.#characters <= VERIFIED_TOKENS_CHARACTERS_MAX)
        return
      this.#forget(oldest)
    }
  }

  #forget(token: string) {
    if (this.#verified.delete(token)) this.#characters -= token.length
  }

  #forgetAll() {
    this.#verified.clear()
    this.#characters = 0
  }
}
