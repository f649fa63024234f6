import { InvalidScopeError } from '../errors.ts'

/** What a credential may do, as spelled in tokens and answers (RFC 6749 section 3.3). `write` implies `read`. */
export type Scope = 'read' | 'read write'

/** Also the scope of accounts and tokens without one. */
export const FULL_SCOPE: Scope = 'read write'

export function isScope(value: unknown): value is Scope {
  return value === 'read' || value === FULL_SCOPE
}

/**
 * Parses the scope that a client asks for; `write` alone is taken as both.
 *
 * @throws {InvalidScopeError} unless it is `read`, `write` or both, in any order, with one space between.
 */
export function parseScope(text: string): Scope {
  const tokens = text.split(' ')
  if (!tokens.every((token) => token === 'read' || token === 'write')) {
    throw new InvalidScopeError('scope must be read, write or both with one space between, or be left out')
  }
  return tokens.includes('write') ? FULL_SCOPE : 'read'
}

/** What both scopes allow. */
export function narrower(one: Scope, other: Scope): Scope {
  return one === FULL_SCOPE ? other : one
}
