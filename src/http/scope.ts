import { InvalidScopeError } from '../errors.ts'

/** What a credential may do, as tokens and answers spell it (RFC 6749 section 3.3). Who may write may read. */
export type Scope = 'read' | 'read write'

/** What an account may do that says nothing else. */
export const FULL_SCOPE: Scope = 'read write'

export function isScope(value: unknown): value is Scope {
  return value === 'read' || value === FULL_SCOPE
}

/**
 * Reads the scope that a client asks for; `write` alone brings `read` along.
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

/** What both allow. */
export function narrower(one: Scope, other: Scope): Scope {
  return one === FULL_SCOPE ? other : one
}
