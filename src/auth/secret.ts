import { hash, randomInt, timingSafeEqual } from 'node:crypto'

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
/** 43 of 62 letters and digits hold 256 bits. */
const SECRET_CHARACTERS = 43

/** A random secret of letters and digits only, which every client encodes alike. */
export function generateSecret(): string {
  return Array.from({ length: SECRET_CHARACTERS }, () => ALPHABET[randomInt(ALPHABET.length)]).join('')
}

/** The stored form of a generated secret; one that long needs no slow hash. */
export function digestSecret(secret: string): string {
  return `sha256:${hash('sha256', secret, 'base64url')}`
}

/** Compares texts in a time that depends on their lengths only. */
export function isSameText(a: string, b: string): boolean {
  const [bytesA, bytesB] = [Buffer.from(a), Buffer.from(b)]
  return bytesA.length === bytesB.length && timingSafeEqual(bytesA, bytesB)
}
