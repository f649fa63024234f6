import crypto, { randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { OverloadedError } from '../errors.ts'
import { PASSWORD_HASHES_MAX, PASSWORD_QUEUE_MAX } from '../limits.ts'

// From the default import: tests can replace it, and on an older Node, where it is missing, they can still report the
// wrong version.
const computeArgon2 = promisify(crypto.argon2)

// OWASP's second choice for argon2id: 19 MiB, two passes, one lane.
const cost = { memory: 19456, passes: 2, parallelism: 1 }
const SALT_BYTES = 16
const TAG_BYTES = 32
const PHC_STRING = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,3})\$([\w+/]{11,86})\$([\w+/]{16,86})$/

interface PasswordHash {
  /** KiB. */
  readonly memory: number
  readonly passes: number
  readonly parallelism: number
  readonly salt: Buffer
  readonly tag: Buffer
}

/** A hash that no password has: checking an unknown account must take as long as a wrong password. */
export const dummyHash = format({ ...cost, salt: Buffer.alloc(SALT_BYTES), tag: Buffer.alloc(TAG_BYTES) })

let running = 0
const waiting: (() => void)[] = []

/**
 * Hashes a password with argon2id (RFC 9106) into a PHC string.
 *
 * @throws {OverloadedError} if PASSWORD_QUEUE_MAX hashes are waiting already.
 */
export async function hashPassword(password: string): Promise<string> {
  const shape = { ...cost, salt: randomBytes(SALT_BYTES), tag: Buffer.alloc(TAG_BYTES) }
  return format({ ...shape, tag: await derive(password, shape) })
}

/**
 * Whether a password is the one that was hashed, with whatever parameters.
 *
 * @throws {OverloadedError} as `hashPassword` does.
 */
export async function verifyPassword(password: string, phc: string): Promise<boolean> {
  const expected = parsePasswordHash(phc)
  return timingSafeEqual(await derive(password, expected), expected.tag)
}

/** Whether a text is a PHC string of argon2id that `verifyPassword` takes. */
export function isPasswordHash(text: string): boolean {
  return PHC_STRING.test(text)
}

async function derive(message: string, { salt: nonce, tag, ...others }: PasswordHash): Promise<Buffer> {
  await enter()
  try {
    return await computeArgon2('argon2id', { message, nonce, ...others, tagLength: tag.length })
  } finally {
    leave()
  }
}

async function enter() {
  if (running < PASSWORD_HASHES_MAX) {
    running += 1
    return
  }
  if (waiting.length >= PASSWORD_QUEUE_MAX) {
    throw new OverloadedError(
      'Cannot check the password: too many others are being checked; try again in a moment',
    )
  }
  await new Promise<void>((resolve) => waiting.push(resolve))
}

/** Hands the slot to the next in line, or frees it. */
function leave() {
  const next = waiting.shift()
  if (next === undefined) running -= 1
  else next()
}

function format({ memory, passes, parallelism, salt, tag }: PasswordHash): string {
  const encode = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '')
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${encode(salt)}$${encode(tag)}`
}

function parsePasswordHash(phc: string): PasswordHash {
  const match = PHC_STRING.exec(phc)
  if (match === null) throw new SyntaxError('it is no argon2id hash')
  const [, memory, passes, parallelism, salt = '', tag = ''] = match
  return {
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    salt: Buffer.from(salt, 'base64'),
    tag: Buffer.from(tag, 'base64'),
  }
}
