import { EndedCredentials } from '../../src/auth/ended-credentials.ts'

export const NOW = 1_000
export const LATER = 2_000

let made = 0

/** Credentials of one generation, as `createJti` names them, but numbered: random bytes for 1,000,000 take seconds. */
export const jtis = (generation: number, count: number) =>
  Array.from({ length: count }, () => `${String(++made).padStart(16, '0')}.${generation}`)

/** Nothing has ended yet. */
export function setUp() {
  const ended = new EndedCredentials()
  const add = (all: readonly string[], exp = LATER) => {
    for (const jti of all) ended.add(jti, exp)
  }
  return { ended, add }
}
