import { pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { ConnbookError, systemCode, UsageError } from '../errors.ts'
import { type FileSystem, type OpenFile, realFileSystem } from './file-system.ts'

const PIECE_BYTES = 64 * 1024
/** RFC 1952, section 2.3.1. */
const GZIP_START = Buffer.from([0x1f, 0x8b])

export class InputUnreadableError extends ConnbookError {
  readonly code = 'input_unreadable'
}

/** Compressed input that is damaged, or ends too early. */
export class InputDamagedError extends ConnbookError {
  readonly code = 'input_damaged'
}

/** Where a command reads from. */
export interface Input {
  /** A path of a file or a pipe, or `-` for standard input. */
  readonly source: string
  /** Its name in "Cannot read …". */
  readonly what: string
  /** Touched only for `-`, because touching it opens standard input; of this process by default. */
  readonly context?: { readonly input: Readable } | undefined
  readonly files?: FileSystem
  /** Ends the message when the source is a folder. */
  readonly ifFolder?: string
  /** Gets the share read so far, from 0 to 1; undefined when the size is unknown. */
  readonly onShare?: (share: number | undefined) => void
}

/** Whether a path names standard input. */
export function isStandardInput(path: string): boolean {
  return path === '-' || path === '/dev/stdin'
}

/**
 * Reads an input piece by piece, and unpacks it if it is gzip.
 *
 * @throws {UsageError} for a folder. @throws {InputUnreadableError} {InputDamagedError}
 */
export async function* readInputBytes(input: Input): AsyncGenerator<Buffer> {
  try {
    const raw = rawBytes(input)
    const head: Buffer[] = []
    for (let bytes = 0; bytes < GZIP_START.length; ) {
      const { done, value } = await raw.next()
      if (done === true) break
      head.push(value)
      bytes += value.length
    }
    const whole = chain(head, raw)
    if (Buffer.concat(head).subarray(0, GZIP_START.length).equals(GZIP_START)) yield* unpacked(whole)
    else yield* whole
  } catch (error) {
    const code = systemCode(error)
    if (error instanceof ConnbookError || code === undefined) throw error
    if (code.startsWith('Z_'))
      throw new InputDamagedError(`Cannot read ${input.what}: its gzip is damaged or cut off (${code})`, {
        cause: error,
      })
    const message = `Cannot read ${input.what} (${code}); name a file that this account can read`
    throw new InputUnreadableError(message, { cause: error })
  }
}

/** Turns pieces into a file that is read from its start to its end. */
export function createSequentialFile(pieces: AsyncGenerator<Buffer>): SequentialFile {
  let rest: Buffer = Buffer.alloc(0)
  let size = 0
  return {
    async read(bytes, offset, length) {
      while (rest.length === 0) {
        const { done, value } = await pieces.next()
        if (done === true) return { bytesRead: 0 }
        rest = value
      }
      const bytesRead = rest.copy(bytes, offset, 0, Math.min(length, rest.length))
      rest = rest.subarray(bytesRead)
      size += bytesRead
      return { bytesRead }
    },
    stat: async () => ({ size }),
    async close() {
      await pieces.return(undefined)
    },
  }
}

/** What is needed of a file to read it once. */
export interface SequentialFile extends Pick<OpenFile, 'read' | 'close'> {
  stat(): Promise<{ readonly size: number }>
}

async function* rawBytes({
  source,
  what,
  context,
  files = realFileSystem,
  ifFolder = 'it is a folder; name a file',
  onShare = () => {},
}: Input): AsyncGenerator<Buffer> {
  if (isStandardInput(source)) {
    for await (const piece of context?.input ?? process.stdin) {
      onShare(undefined)
      yield piece as Buffer
    }
    return
  }
  const file = await files.open(source, 'r')
  try {
    const found = await file.stat()
    if (found.isDirectory()) throw new UsageError(`Cannot read ${what}: ${ifFolder}`)
    for (let position = 0; ; ) {
      const buffer = Buffer.allocUnsafe(PIECE_BYTES)
      // A pipe has no positions.
      const { bytesRead } = await file.read(buffer, 0, PIECE_BYTES, found.isFile() ? position : -1)
      if (bytesRead === 0) return
      position += bytesRead
      onShare(found.size === 0 ? undefined : Math.min(1, position / found.size))
      yield buffer.subarray(0, bytesRead)
    }
  } finally {
    await file.close()
  }
}

async function* chain(head: readonly Buffer[], rest: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* head
    yield* rest
  } finally {
    await rest.return(undefined)
  }
}

async function* unpacked(packed: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  const gunzip = createGunzip()
  // What fails is thrown where the pieces are read.
  pipeline(Readable.from(packed), gunzip, () => {})
  yield* gunzip
}
