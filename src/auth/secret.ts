import { hash, randomInt, timingSafeEqual } from 'node:crypto'
import { constants, openSync } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { Socket } from 'node:net'
import { addAbortSignal, type Readable } from 'node:stream'
import { UsageError } from '../errors.ts'
import { PASSWORD_BYTES_MAX, PASSWORD_CHARACTERS_MIN, SECRET_CHARACTERS_MIN } from '../limits.ts'
import { adviceForTilde } from '../shell.ts'
import { inTurn } from '../system-account.ts'
import type { AccountKind } from './accounts.ts'

/** Both are invisible, but belong to words of some scripts, and to emoji. */
const JOINERS = '\\u200c\\u200d'
const INVISIBLE = new RegExp(`(?![${JOINERS}])[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}]`, 'u')
const BLANK_AT_AN_END = new RegExp(`^[\\s${JOINERS}]|[\\s${JOINERS}]$`, 'u')

/** What `bareLine` drops: a byte order mark of UTF-8, and a line end. */
const AROUND_BYTES_MAX = 3 + 2
const NOT_UTF8 = 'it is not UTF-8'
const TOO_LONG = `it is longer than ${PASSWORD_BYTES_MAX} bytes`

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

/**
 * The value of a variable, or of the file that `VARIABLE_FILE` names, as a bare line.
 *
 * @param signal Ends the wait for somebody who writes into a pipe.
 * @returns Undefined if neither is set.
 * @throws The reason of the signal.
 * @throws {UsageError} if both are set, the file cannot be read, or the value is empty, too long or not UTF-8.
 */
export async function readSecretVariable(
  variable: string,
  environment: NodeJS.ProcessEnv,
  signal?: AbortSignal,
): Promise<string | undefined> {
  const value = environment[variable]
  const file = environment[`${variable}_FILE`]
  if (isSet(value) && isSet(file)) {
    throw new UsageError(`Cannot use both ${variable} and ${variable}_FILE; set one of them`)
  }
  if (isSet(file)) {
    const what = `${variable}_FILE "${file}"`
    const advice = adviceForTilde(file)
    if (advice !== undefined)
      throw new UsageError(`Cannot read ${what}: no shell has replaced the "~" at its beginning; ${advice}`)
    return readSecretFile(what, file, signal)
  }
  return isSet(value) ? checkSecret(variable, value) : undefined
}

async function readSecretFile(what: string, file: string, signal?: AbortSignal): Promise<string> {
  try {
    const source = await openSource(file)
    const text = await readSecret(what, signal === undefined ? source : addAbortSignal(signal, source))
    if (text === '') throw new UsageError(`Cannot use ${what}: it is empty`)
    return text
  } catch (error) {
    signal?.throwIfAborted()
    if (error instanceof UsageError) throw error
    const reason = error instanceof Error ? error.message : String(error)
    throw new UsageError(`Cannot read ${what}: ${reason}`, { cause: error })
  }
}

/** Opening a pipe as a file would hold up a thread, and so the end of the process, until somebody writes. */
function openSource(file: string): Promise<Readable> {
  return inTurn(async () => {
    if (!(await stat(file)).isFIFO()) return (await open(file)).createReadStream()
    const fd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)
    return new Socket({ fd, readable: true, writable: false })
  })
}

/** An empty variable counts as unset. */
export function isSet(value: string | undefined): value is string {
  return value !== undefined && value !== ''
}

/**
 * What is wrong with a password of a user, or a secret of a client, that somebody chooses. Those that are stored already
 * stay good.
 *
 * @param name The name of the account, if it is known.
 * @returns The end of a sentence that begins with "it"; undefined if nothing is wrong.
 */
export function faultOfChosen(kind: AccountKind, secret: string, name?: string): string | undefined {
  const unseen = faultOfUnseen(secret)
  if (unseen !== undefined) return unseen
  const charactersMin = kind === 'user' ? PASSWORD_CHARACTERS_MIN : SECRET_CHARACTERS_MIN
  if ([...secret].length < charactersMin)
    return `is shorter than ${charactersMin} characters; choose a longer one`
  if (Buffer.byteLength(secret) > PASSWORD_BYTES_MAX)
    return `is longer than ${PASSWORD_BYTES_MAX} bytes; choose a shorter one`
  if (secret !== name) return undefined
  return kind === 'user'
    ? 'is the name of the user; choose another'
    : 'is the id of the client; choose another'
}

/** An invisible character is nearly always an accident, and locks out everybody who types what can be seen. */
function faultOfUnseen(secret: string): string | undefined {
  if (/[\r\n]/.test(secret)) return 'has more than one line; give one line'
  const [invisible] = INVISIBLE.exec(secret) ?? []
  if (invisible !== undefined) return `has an invisible character, ${codePointOf(invisible)}; leave it out`
  const [blank] = BLANK_AT_AN_END.exec(secret) ?? []
  return blank && `begins or ends with white space, ${codePointOf(blank)}; leave it out`
}

function codePointOf(character: string): string {
  return `U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}`
}
