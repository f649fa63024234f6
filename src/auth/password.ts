import crypto, { randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { createFairQueue } from '../fair-queue.ts'
import { type Argon2Parameters, createArgon2Worker } from './argon2-worker.ts'

/** Password hashes handed to the thread that checks passwords: it computes one, and has the next at hand. */
export const PASSWORD_HASHES_MAX = 2
/** Places for password hashes that wait: room for 256 networks that never stop, and as many others. */
export const PASSWORD_QUEUE_MAX = 512
/** A password takes a place for each such part of it while it waits. */
const PASSWORD_PLACE_CHARACTERS = 1024

// For new passwords of a first start and of commands, which hash one: not worth a thread.
// From the default import: tests can replace it, and on an older Node, where it is missing, they can still report the
// wrong version.
const computeArgon2 = promisify(crypto.argon2)
// For a server, which may get thousands of checks.
const worker = createArgon2Worker()

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
  readonly salt: Uint8Array
  readonly tag: Uint8Array
}

/** A hash that no password has: checking an unknown account must take as long as a wrong password. */
export const dummyHash = format({ ...cost, salt: Buffer.alloc(SALT_BYTES), tag: Buffer.alloc(TAG_BYTES) })

/** For commands, which nobody else is in the queue with. */
const ALONE: readonly string[] = ['']

const queue = createFairQueue(
  PASSWORD_HASHES_MAX,
  PASSWORD_QUEUE_MAX,
  'Cannot check the password: too many others are being checked; try again in a moment',
)

/**
 * Hashes a password with argon2id (RFC 9106) into a PHC string.
 *
 * @param path In the queue, as `FairQueue` has it.
 * @param place Where to compute: in libuv's pool, which a server has to spare, or on the thread of the checks.
 * @throws {OverloadedError} if the queue of PASSWORD_QUEUE_MAX places is full, and the caller has its share of it. Also
 *   as `Argon2Worker.compute` does.
 */
export async function hashPassword(
  password: string,
  path = ALONE,
  place: 'pool' | 'thread' = 'pool',
): Promise<string> {
  const shape = { ...cost, salt: randomBytes(SALT_BYTES), tag: Buffer.alloc(TAG_BYTES) }
  const compute =
    place === 'thread'
      ? worker.compute
      : (parameters: Argon2Parameters) => computeArgon2('argon2id', parameters)
  return format({ ...shape, tag: await derive(password, shape, path, compute) })
}

/**
 * Whether a password is the one that was hashed, with whatever parameters.
 *
 * @param path As for `hashPassword`.
 * @throws {OverloadedError} as `hashPassword` does, and as `Argon2Worker.compute` does.
 */
export async function verifyPassword(password: string, phc: string, path = ALONE): Promise<boolean> {
  const expected = parsePasswordHash(phc)
  return timingSafeEqual(await derive(password, expected, path, worker.compute), expected.tag)
}

/** Whether a text is a PHC string of argon2id that `verifyPassword` takes. */
export function isPasswordHash(text: string): boolean {
  return PHC_STRING.test(text)
}

async function derive(
  message: string,
  { salt: nonce, tag, ...others }: PasswordHash,
  path: readonly string[],
  compute: (parameters: Argon2Parameters) => Promise<Uint8Array>,
): Promise<Uint8Array> {
  await queue.enter(path, Math.ceil((message.length + 1) / PASSWORD_PLACE_CHARACTERS))
  try {
    return await compute({ message, nonce, ...others, tagLength: tag.length })
  } finally {
    queue.leave()
  }
}

function format({ memory, passes, parallelism, salt, tag }: PasswordHash): string {
  const encode = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64').replace(/=+$/, '')
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
