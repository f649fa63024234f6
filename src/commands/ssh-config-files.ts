import { constants } from 'node:fs'
import { ConnbookError, InvalidInputError, systemCode } from '../errors.ts'
import { LineReader } from '../exchange/import-text.ts'
import type { Condition } from '../exchange/ssh-condition.ts'
import type {
  Include,
  OpenConfiguration,
  SourceLocation,
  SshConfiguration,
} from '../exchange/ssh-configuration.ts'
import { type FileSystem, realFileSystem } from '../files/file-system.ts'
import { globPaths } from '../files/glob-paths.ts'

/** Read of an SSH configuration by the command, with all that it includes. */
const SSH_CONFIG_BYTES_MAX = 256 * 1024 * 1024
/** Words behind `Include` that are followed, and files that they name. */
const SSH_INCLUDES_MAX = 10_000
/** Files within files, as in ssh. */
const SSH_INCLUDE_DEPTH_MAX = 16
/** Names in folders that the patterns behind one `Include` look at. */
const SSH_INCLUDE_ENTRIES_MAX = 100_000

const PIECE_BYTES = 64 * 1024
const IN_PART = 'was not read to its end'

/** Whose configuration it is, which decides what relative paths and `~` mean. */
export interface SshConfigOwner {
  /** Home of the user; undefined for a configuration of the system, where ssh takes no `~`. */
  readonly home: string | undefined
  /** Folder of relative paths. */
  readonly folder: string
}

/** A file that is being read, in the files that include it. */
interface Chain {
  readonly path: string | undefined
  /** Device and inode; undefined for the file that was named. */
  readonly id: string | undefined
  readonly by: Chain | undefined
}

/**
 * Takes an SSH configuration with all files that it includes, as ssh reads them.
 *
 * Faults of an `Include` go to the configuration: a file that cannot be read, is not a file, is too deep, or includes
 * itself. As for ssh, a path without a file is not an error.
 *
 * @param pieces The pieces of the file that was named.
 * @param id Device and inode of that file, where it is one.
 * @throws {InvalidInputError} if all of it is too long, if it includes too much, or for text that is not valid.
 */
export async function takeSshFiles(
  configuration: SshConfiguration,
  pieces: AsyncIterable<Buffer>,
  owner: SshConfigOwner,
  id?: string,
  files: FileSystem = realFileSystem,
): Promise<void> {
  const taker = new FileTaker(configuration, owner, files)
  const open = configuration.openFile()
  const chain = { path: undefined, id, by: undefined }
  const reader = new LineReader()
  for await (const piece of pieces) {
    taker.count(piece.length)
    await taker.takeLines(open, reader.read(piece), chain)
  }
  await taker.takeLines(open, reader.end(), chain)
}

/** Device and inode of a plain file; undefined for anything else. */
export async function fileIdOf(
  path: string,
  files: FileSystem = realFileSystem,
): Promise<string | undefined> {
  const found = await files.stat(path).catch(() => undefined)
  return found?.isFile() === true ? `${found.dev} ${found.ino}` : undefined
}

class FileTaker {
  readonly #configuration: SshConfiguration
  readonly #owner: SshConfigOwner
  readonly #files: FileSystem
  #bytes = 0
  #includes = 0
  /** Whether the path that is followed has led to a file, or to a fault. */
  #isFound = false

  constructor(configuration: SshConfiguration, owner: SshConfigOwner, files: FileSystem) {
    this.#configuration = configuration
    this.#owner = owner
    this.#files = files
  }

  count(bytes: number) {
    this.#bytes += bytes
    if (this.#bytes <= SSH_CONFIG_BYTES_MAX) return
    throw new InvalidInputError(
      `With what it includes, it has more than ${SSH_CONFIG_BYTES_MAX} bytes; make it several files`,
    )
  }

  async takeLines(open: OpenConfiguration, lines: readonly string[], chain: Chain) {
    for (const line of lines) {
      const include = this.#configuration.takeLine(open, line)
      if (include !== undefined) await this.#follow(include, chain)
    }
  }

  async #follow({ condition, location, words }: Include, chain: Chain) {
    if (words.length === 0) this.#fault(location, 'names nothing')
    for (const word of words) {
      this.#countInclude()
      const path = this.#pathOf(word, location)
      if (path === undefined) continue
      const paths = await this.#expand(path, location)
      this.#isFound = paths === undefined
      for (const found of paths ?? []) await this.#include(found, condition, location, chain)
      if (!this.#isFound)
        this.#configuration.leaveOut(location, `Include matches no file: ${JSON.stringify(path)}`)
    }
  }

  #countInclude() {
    this.#includes += 1
    if (this.#includes <= SSH_INCLUDES_MAX) return
    throw new InvalidInputError(`It includes files more than ${SSH_INCLUDES_MAX} times`)
  }

  /** As in ssh; undefined for a path that ssh would refuse. */
  #pathOf(word: string, location: SourceLocation): string | undefined {
    const { home, folder } = this.#owner
    if (/%|\$\{/.test(word)) {
      const reason = 'has "%" or "${", which some versions of ssh replace; write the path in full'
      this.#fault(location, `${JSON.stringify(word)} ${reason}`)
      return undefined
    }
    if (word.startsWith('/')) return word
    if (word !== '' && !word.startsWith('~')) return `${escaped(folder)}/${word}`
    if (home !== undefined && /^~(?:\/|$)/.test(word)) return escaped(home) + word.slice(1)
    const reason =
      word === ''
        ? 'names an empty path'
        : home === undefined
          ? 'begins with "~", which ssh does not take in a file of the system'
          : 'names the home of another account; write the path in full'
    this.#fault(location, `${JSON.stringify(word)} ${reason}`)
    return undefined
  }

  /** Undefined if the path is a fault. */
  async #expand(pattern: string, location: SourceLocation): Promise<string[] | undefined> {
    let entries = 0
    const look = (names: number) => {
      entries += names
      if (entries > SSH_INCLUDE_ENTRIES_MAX)
        throw new InvalidInputError(`it looks at more than ${SSH_INCLUDE_ENTRIES_MAX} names in folders`)
    }
    try {
      return await globPaths(pattern, look, this.#files)
    } catch (error) {
      this.#fault(location, `${JSON.stringify(pattern)} cannot be followed: ${reasonOf(error)}`)
      return undefined
    }
  }

  async #include(path: string, condition: Condition, location: SourceLocation, by: Chain) {
    this.#countInclude()
    const file = await this.#try(location, path, 'cannot be read', () => openPlainFile(path, this.#files))
    if (file === undefined) return
    try {
      const reason = reasonAgainst(by, file.id)
      if (reason !== undefined) return this.#fault(location, `${JSON.stringify(path)} ${reason}`)
      const open = this.#configuration.openFile(path, condition)
      const reader = new LineReader()
      for (;;) {
        const bytes = await this.#try(location, path, IN_PART, file.read)
        if (bytes === undefined) return
        this.count(bytes.length)
        const isEnd = bytes.length === 0
        const lines = await this.#try(location, path, IN_PART, () =>
          isEnd ? reader.end() : reader.read(bytes),
        )
        if (lines === undefined) return
        await this.takeLines(open, lines, { path, id: file.id, by })
        if (isEnd) return
      }
    } finally {
      await file.close()
      // What it includes has changed that.
      this.#isFound = true
    }
  }

  /** Undefined if it fails. That is a fault, unless the file is missing: ssh passes such a file over. */
  async #try<Result>(
    location: SourceLocation,
    path: string,
    failure: string,
    act: () => Result | Promise<Result>,
  ): Promise<Result | undefined> {
    try {
      return await act()
    } catch (error) {
      // ssh passes these over, too.
      if (['ENOENT', 'ENOTDIR'].includes(systemCode(error) ?? '')) return undefined
      this.#isFound = true
      this.#fault(location, `${JSON.stringify(path)} ${failure}: ${reasonOf(error)}`)
      return undefined
    }
  }

  #fault(location: SourceLocation, detail: string) {
    this.#configuration.fault(location, detail, 'Include')
  }
}

interface PlainFile {
  /** Device and inode. */
  readonly id: string
  /** The next bytes, none at its end; valid until the next call. */
  read(): Promise<Buffer>
  close(): Promise<void>
}

/** @throws {InvalidInputError} for a folder, a pipe or a device. Also throws system errors. */
export async function openPlainFile(path: string, files: FileSystem = realFileSystem): Promise<PlainFile> {
  // Without O_NONBLOCK, to open a named pipe could take for ever.
  const file = await files.open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const found = await file.stat()
    if (!found.isFile()) throw new InvalidInputError('it is not a plain file')
    const buffer = Buffer.alloc(PIECE_BYTES)
    let position = 0
    return {
      id: `${found.dev} ${found.ino}`,
      async read() {
        const { bytesRead } = await file.read(buffer, 0, buffer.length, position)
        position += bytesRead
        return buffer.subarray(0, bytesRead)
      },
      close: () => file.close(),
    }
  } catch (error) {
    await file.close()
    throw error
  }
}

/** Why a file cannot be included at this location; undefined if it can. */
function reasonAgainst(chain: Chain, id: string): string | undefined {
  let depth = 1
  const between: string[] = []
  for (let at: Chain | undefined = chain; at !== undefined; at = at.by) {
    if (at.id === id)
      return between.length === 0
        ? 'includes itself'
        : `includes itself by way of ${between.reverse().join(', ')}`
    if (at.path !== undefined) between.push(JSON.stringify(at.path))
    if (at.by !== undefined) depth += 1
  }
  return depth > SSH_INCLUDE_DEPTH_MAX
    ? `is deeper than ${SSH_INCLUDE_DEPTH_MAX} files within each other, which ssh refuses`
    : undefined
}

/** So that nothing in it is taken for a pattern. */
function escaped(folder: string): string {
  return folder.replace(/[\\*?[\]]/g, '\\$&')
}

function reasonOf(error: unknown): string {
  if (error instanceof ConnbookError) return error.message
  const code = systemCode(error)
  if (code === undefined) throw error
  return code
}
