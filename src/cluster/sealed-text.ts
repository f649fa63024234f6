import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto'
import { ConnbookError, NewerFormError } from '../errors.ts'
import { readNamedFile, refusedFile } from '../files/named-file.ts'
import { checkMembers, isNewerVersion, isObject, parseJson } from '../json.ts'

/** A text was sealed with the key of another file. */
export class WrongKeyFileError extends ConnbookError {
  readonly code = 'wrong_key_file'
  readonly path: string

  /** @param path The path of the file. @param endpoint Where the text was read, if that is known. */
  constructor(path: string, endpoint?: string) {
    const place = endpoint === undefined ? 'etcd' : `etcd at ${endpoint}`
    super(
      `Cannot use ${FLAG} "${path}": the signing keys in ${place} were sealed with another key; give each node the same file`,
    )
    this.path = path
  }
}

const FLAG = '--etcd-key-file'
const KEY = /^[0-9a-f]{64}$/i
const FILE_BYTES_MAX = 1024
const FORMAT = 'connbook sealed'
const VERSION = 1
const CIPHER = 'aes-256-gcm'
/** NIST SP 800-38D, section 8.2: random nonces of 96 bits are safe for 2^32 texts with one key. */
const NONCE_BYTES = 12
const TAG_BYTES = 16

/**
 * Reads the key that all nodes of a cluster have: 64 hex digits.
 *
 * @throws {KeyExposedError} {UsageError} as `readNamedFile` does; also if the file holds something else.
 */
export function openSealer(path: string): Sealer {
  const file = { flag: FLAG, path, kind: 'file with 64 hex digits', bytesMax: FILE_BYTES_MAX }
  const text = readNamedFile(file, { isSecret: true }).trim()
  if (!KEY.test(text)) {
    const command = `make one with: (umask 077; openssl rand -hex 32 > FILE), and copy it to each node`
    throw refusedFile(file, 'it does not hold 64 hex digits', command)
  }
  return new Sealer(Buffer.from(text, 'hex'), path)
}

/** Keeps text secret from those who can read etcd or its snapshots. */
export class Sealer {
  readonly #key: Buffer
  /** Tells a wrong key from a changed text, and nothing about the key. */
  readonly #keyId: string
  readonly #path: string

  /** @param key 32 bytes. @param path The path of its file, for errors. */
  constructor(key: Buffer, path: string) {
    this.#key = key
    this.#keyId = createHmac('sha256', key).update(`${FORMAT} key id`).digest('hex').slice(0, 16)
    this.#path = path
  }

  /** @param place The key of etcd for which the text is meant; it opens there only. */
  seal(text: string, place: string): string {
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv(CIPHER, this.#key, nonce, { authTagLength: TAG_BYTES })
    cipher.setAAD(dataOf(place))
    const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
    return JSON.stringify({
      format: FORMAT,
      version: VERSION,
      key: this.#keyId,
      nonce: nonce.toString('base64url'),
      sealed: sealed.toString('base64url'),
    })
  }

  /**
   * @throws {WrongKeyFileError} if it was sealed with another key. {NewerFormError}
   * @throws {SyntaxError} if it was not sealed, not for this place, or was changed since.
   */
  open(text: string, place: string): string {
    const { key: id, nonce, sealed } = parseSealed(text)
    if (id !== this.#keyId) throw new WrongKeyFileError(this.#path)
    const end = sealed.length - TAG_BYTES
    try {
      const decipher = createDecipheriv(CIPHER, this.#key, nonce, { authTagLength: TAG_BYTES })
      decipher.setAAD(dataOf(place))
      decipher.setAuthTag(sealed.subarray(end))
      return Buffer.concat([decipher.update(sealed.subarray(0, end)), decipher.final()]).toString()
    } catch (error) {
      throw new SyntaxError('it was changed since it was sealed, or sealed for another place', {
        cause: error,
      })
    }
  }
}

function dataOf(place: string): Buffer {
  return Buffer.from(`${FORMAT} ${VERSION} ${place}`)
}

function parseSealed(text: string) {
  const input = parseJson(text)
  if (!isObject(input) || input.format !== FORMAT) throw new SyntaxError('it is not sealed')
  const { format: _, version, key, nonce, sealed, ...others } = input
  if (isNewerVersion(version, VERSION)) throw new NewerFormError(`version ${version}`, VERSION)
  checkMembers(others, [], 'the sealed text')
  if (
    version !== VERSION ||
    typeof key !== 'string' ||
    typeof nonce !== 'string' ||
    typeof sealed !== 'string'
  )
    throw new SyntaxError('it is not sealed')
  const bytes = { key, nonce: Buffer.from(nonce, 'base64url'), sealed: Buffer.from(sealed, 'base64url') }
  if (bytes.nonce.length !== NONCE_BYTES || bytes.sealed.length < TAG_BYTES)
    throw new SyntaxError('it is not sealed')
  return bytes
}
