import { hash, randomInt, timingSafeEqual } from 'node:crypto'

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
/** For 256 bits of entropy: 62 ** 43 > 2 ** 256. */
const SECRET_CHARACTERS = 43

/** A random secret; every client encodes letters and digits alike. */
export function generateSecret(): string {
  return Array.from({ length: SECRET_CHARACTERS }, () => ALPHABET[randomInt(ALPHABET.length)]).join('')
}

/** The stored form of a generated secret; with 256 bits it needs no slow hash. */
export function digestSecret(secret: string): string {
  return `sha256:${hash('sha256', secret, 'base64url')}`
}

/** Compares texts in a time that depends only on their lengths. */
export function isSameText(a: string, b: string): boolean {
  const [bytesA, bytesB] = [Buffer.from(a), Buffer.from(b)]
  return bytesA.length === bytesB.length && timingSafeEqual(bytesA, bytesB)
}
