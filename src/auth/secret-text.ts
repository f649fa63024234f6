import type { Readable } from 'node:stream'
import { UsageError } from '../errors.ts'
import { PASSWORD_BYTES_MAX } from '../limits.ts'

/** What `bareLine` drops: a byte order mark of UTF-8, and a line end. */
const AROUND_BYTES_MAX = 3 + 2
const NOT_UTF8 = 'it is not UTF-8'
const TOO_LONG = `it is longer than ${PASSWORD_BYTES_MAX} bytes`

/** A text without what editors and shells add to a line: a byte order mark at its beginning, and one line end. */
export function bareLine(text: string): string {
  return text.replace(/^\ufeff/, '').replace(/\r?\n$/, '')
}

/**
 * Reads a password or a secret, as a bare line, to the end, or until it is too long.
 *
 * @param what Its name in "Cannot use …".
 * @throws {UsageError} if it is too long or not UTF-8.
 */
export async function readSecret(what: string, source: Readable): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of source as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    size += chunk.length
    if (size > PASSWORD_BYTES_MAX + AROUND_BYTES_MAX) throw unusable(what, TOO_LONG)
  }
  return checkLength(what, bareLine(decode(what, Buffer.concat(chunks))))
}

/**
 * Checks a password or a secret that Node has decoded; U+FFFD stands for bytes that were not UTF-8.
 *
 * @returns It as a bare line.
 * @throws {UsageError} if it is too long or was not UTF-8.
 */
export function checkSecret(what: string, secret: string): string {
  if (secret.includes('\ufffd')) throw unusable(what, NOT_UTF8)
  return checkLength(what, bareLine(secret))
}

function checkLength(what: string, secret: string): string {
  if (Buffer.byteLength(secret) > PASSWORD_BYTES_MAX) throw unusable(what, TOO_LONG)
  return secret
}

function decode(what: string, bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw unusable(what, NOT_UTF8)
  }
}

function unusable(what: string, why: string): UsageError {
  return new UsageError(`Cannot use ${what}: ${why}`)
}
