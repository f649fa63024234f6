import { InvalidScopeError } from '../errors.ts'

/** What each word of a scope allows, as spelled in tokens and answers (RFC 6749 section 3.3): it brings along those before it. */
const scopes = { read: 'read', write: 'read write', admin: 'read write admin' } as const

/** The right that a call needs, and that an account has. */
export type ScopeWord = keyof typeof scopes

/** What a credential may do. */
export type Scope = (typeof scopes)[ScopeWord]

export const scopeWords = Object.keys(scopes) as readonly ScopeWord[]

/** In the order of `scopeWords`. */
export const allScopes: readonly Scope[] = Object.values(scopes)

/** Reads and changes records. Also the scope of accounts and tokens without one. */
export const WRITE_SCOPE = scopes.write

/** Manages accounts, too. */
export const ADMIN_SCOPE = scopes.admin

export function isScope(value: unknown): value is Scope {
  return allScopes.some((scope) => scope === value)
}

export function isScopeWord(value: unknown): value is ScopeWord {
  return scopeWords.some((word) => word === value)
}

/** The scope of an account with this right. */
export function scopeFor(word: ScopeWord): Scope {
  return scopes[word]
}

/** The widest right of a scope. */
export function widestOf(scope: Scope): ScopeWord {
  return scopeWords.findLast((word) => scopes[word] === scope) ?? 'read'
}

export function allows(scope: Scope, needed: ScopeWord): boolean {
  return narrower(scope, scopes[needed]) === scopes[needed]
}

/**
 * Parses the scope that a client asks for; a word alone brings along those before it.
 *
 * @throws {InvalidScopeError} unless it is some of the words, in any order, with one space between.
 */
export function parseScope(text: string): Scope {
  const words = text.split(' ')
  if (!words.every(isScopeWord)) {
    throw new InvalidScopeError(
      'scope must be read, write or admin, or several with one space between, or be left out',
    )
  }
  return scopes[scopeWords.findLast((word) => words.includes(word)) ?? 'read']
}

/** What both scopes allow. */
export function narrower(one: Scope, other: Scope): Scope {
  return allScopes.indexOf(one) < allScopes.indexOf(other) ? one : other
}
