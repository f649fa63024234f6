import assert from 'node:assert/strict'
import { hashPassword, verifyPassword } from '../../src/auth/password.ts'

export const passwords = ['correct horse', 'pässwörd 🔑', ' ', 'x'.repeat(60_000)]

/** A password for the name of a test. */
export function shown(password: string): string {
  return JSON.stringify(password.slice(0, 20))
}

/** Asserts that the hash of a password is that of no other. */
export async function assertOnlyMatch(password: string): Promise<void> {
  const phc = await hashPassword(password)
  assert.equal(await verifyPassword(password, phc), true)
  assert.equal(await verifyPassword(`${password} `, phc), false)
  assert.equal(await verifyPassword('', phc), false)
}
