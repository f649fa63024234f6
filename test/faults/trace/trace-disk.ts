import { basename, dirname, resolve } from 'node:path'
import { OWNER_SOCKET } from '../../../src/files/data-folder.ts'
import { Inode } from '../volatile/inode.ts'
import { type DiskImage, VolatileDisk } from '../volatile/volatile-disk.ts'
import { type Argument, type Call, TraceError, type TraceEvent } from './trace-parser.ts'

/** The calls that `TraceDisk` understands; a recording must hold every such call. */
export const fileCalls = [
  'openat',
  'close',
  'write',
  'writev',
  'pwrite64',
  'pwritev',
  'fsync',
  'fdatasync',
  'ftruncate',
  'rename',
  'renameat',
  'renameat2',
  'unlink',
  'unlinkat',
  'mkdir',
  'mkdirat',
  'rmdir',
] as const

/** Other calls that change files. The program makes none; a recording with one cannot be replayed. */
export const foreignCalls = [
  'open',
  'creat',
  'truncate',
  'pwritev2',
  'link',
  'linkat',
  'symlink',
  'symlinkat',
  'fallocate',
  'copy_file_range',
  'sendfile',
  'sync_file_range',
] as const

/** A file, or the path of a folder. */
type Opened = Inode | string

/**
 * Replays the file calls of a trace that concern one folder on a disk that forgets unsynced data.
 *
 * What a call changes may be on disk as soon as it has begun; a sync counts once it has returned without an error,
 * and covers what was done before it began.
 */
export class TraceDisk {
  readonly disk: VolatileDisk
  readonly #root: string
  /** By descriptor. */
  readonly #opened = new Map<number, Opened>()
  readonly #syncing = new Set<Opened>()
  /** Files opened with O_APPEND. */
  readonly #appended = new Set<Inode>()

  /** @param root The folder; it is in the image. */
  constructor(root: string, image: DiskImage) {
    this.#root = root
    this.disk = new VolatileDisk(image)
  }

  /**
   * @returns Whether the call concerned the folder and changed what is or may be on disk.
   * @throws {TraceError} for a call whose effect it does not know.
   */
  apply({ moment, call }: TraceEvent): boolean {
    if ((foreignCalls as readonly string[]).includes(call.name)) {
      if (pathsOf(call).some((path) => this.#isInside(path)) && call.result !== -1) throw unknown(call)
      return false
    }
    if (call.name === 'fsync' || call.name === 'fdatasync') return this.#sync(moment, call)
    if (call.result === -1) return false
    return moment === 'begun' ? this.#begin(call) : this.#end(call)
  }

  #begin(call: Call): boolean {
    switch (call.name) {
      case 'openat':
        return this.#makeOrEmpty(call)
      case 'close':
        this.#opened.delete(descriptorOf(call).number)
        return false
      case 'write':
      case 'writev':
      case 'pwrite64':
      case 'pwritev':
        return this.#write(call)
      case 'ftruncate':
        return this.#changeFile(call, (file) => this.disk.truncate(file, numberAt(call, 1)))
      case 'rename':
      case 'renameat':
      case 'renameat2':
        return this.#changeNames(call, ([from = '', to = '']) => this.disk.rename(from, to))
      case 'unlink':
      case 'unlinkat':
        if (call.args.some((arg) => arg.kind === 'word' && arg.text.includes('AT_REMOVEDIR')))
          throw unknown(call)
        // The call that made the socket is not recorded; no crash can lose what it holds.
        if (pathsOf(call).every((path) => basename(path) === OWNER_SOCKET)) return false
        return this.#changeNames(call, ([path = '']) => this.disk.unlink(path))
      case 'mkdir':
      case 'mkdirat':
        return this.#changeNames(call, ([path = '']) => this.disk.mkdir(path))
      case 'rmdir':
        return this.#changeNames(call, ([path = '']) => this.disk.rmdir(path))
      default:
        return false
    }
  }

  #end(call: Call): boolean {
    if (call.name !== 'openat' || call.result === undefined) return false
    const path = onlyPathOf(call)
    if (!this.#isInside(path)) return false
    const found = this.disk.find(path)
    if (found !== undefined) this.#opened.set(call.result, found === 'folder' ? path : found)
    if (found instanceof Inode && wordAt(call, 2).includes('O_APPEND')) this.#appended.add(found)
    return false
  }

  #makeOrEmpty(call: Call): boolean {
    const path = onlyPathOf(call)
    const flags = wordAt(call, 2).split('|')
    if (!this.#isInside(path)) return false
    const found = this.disk.find(path)
    if (found === undefined) {
      if (!flags.includes('O_CREAT')) throw new TraceError(`"${path}" was opened before it was made`)
      return this.#changeNames(call, () => this.disk.create(path))
    }
    if (found === 'folder' || !flags.includes('O_TRUNC')) return false
    this.disk.truncate(found, 0)
    return true
  }

  #write(call: Call): boolean {
    return this.#changeFile(call, (file) => {
      const isPositioned = call.name.startsWith('p')
      // Where the other calls write depends on earlier writes, unless the file was opened with O_APPEND.
      if (!isPositioned && !this.#appended.has(file)) throw unknown(call)
      const bytes = writtenBytes(call)
      const position = isPositioned
        ? numberAt(call, call.name === 'pwrite64' ? 3 : call.args.length - 1)
        : file.content.length
      this.disk.write(file, position, bytes.subarray(0, call.result ?? bytes.length))
    })
  }

  #changeFile(call: Call, change: (file: Inode) => void): boolean {
    const { number, path } = descriptorOf(call)
    const file = this.#opened.get(number)
    if (!(file instanceof Inode)) {
      if (this.#isInside(path)) throw new TraceError(`"${path}" was written before it was opened`)
      return false
    }
    this.#checkNotSyncing(file)
    change(file)
    return true
  }

  #changeNames(call: Call, change: (paths: string[]) => void): boolean {
    const paths = pathsOf(call)
    if (!paths.every((path) => this.#isInside(path))) {
      if (paths.some((path) => this.#isInside(path))) throw unknown(call)
      return false
    }
    for (const path of paths) this.#checkNotSyncing(dirname(path))
    change(paths)
    return true
  }

  #sync(moment: TraceEvent['moment'], call: Call): boolean {
    const { number, path } = descriptorOf(call)
    const opened = this.#opened.get(number)
    if (opened === undefined) {
      if (this.#isInside(path)) throw new TraceError(`"${path}" was synced before it was opened`)
      return false
    }
    if (moment === 'begun') {
      this.#syncing.add(opened)
      return false
    }
    this.#syncing.delete(opened)
    if (call.result === 0 && opened instanceof Inode) this.disk.sync(opened)
    else if (call.result === 0 && typeof opened === 'string') this.disk.syncFolder(opened)
    else if (opened instanceof Inode) this.disk.failSync(opened)
    return true
  }

  /** Whether a sync covers a change during it is unknown. With one thread for files there is none. */
  #checkNotSyncing(opened: Opened) {
    if (this.#syncing.has(opened)) throw new TraceError('A file was changed while it was being synced')
  }

  #isInside(path: string): boolean {
    return path === this.#root || path.startsWith(`${this.#root}/`)
  }
}

/** The bytes that a call writes. */
export function writtenBytes(call: Call): Buffer {
  const [, content] = call.args
  if (content?.kind === 'bytes') return content.bytes
  if (content?.kind !== 'list') throw unknown(call)
  return Buffer.concat(
    content.items.map((item) => {
      const base = item.kind === 'structure' ? item.members.get('iov_base') : undefined
      if (base?.kind !== 'bytes') throw unknown(call)
      return base.bytes
    }),
  )
}

/** The descriptor that a call uses. */
export function descriptorOf(call: Call): { readonly number: number; readonly path: string } {
  const [first] = call.args
  if (first?.kind === 'descriptor' && first.number !== undefined) return { ...first, number: first.number }
  // A call on a descriptor that is not open, which fails.
  if (first?.kind === 'word' && /^-?\d+$/.test(first.text)) return { number: Number(first.text), path: '' }
  throw unknown(call)
}

/** The paths of a call; each is relative to the folder argument before it. */
export function pathsOf({ args }: Call): string[] {
  return args.flatMap((arg, position) => {
    if (arg.kind !== 'bytes') return []
    const before = args[position - 1]
    return [resolve(before?.kind === 'descriptor' ? before.path : '/', arg.bytes.toString())]
  })
}

function onlyPathOf(call: Call): string {
  const [path, ...others] = pathsOf(call)
  if (path === undefined || others.length > 0) throw unknown(call)
  return path
}

function wordAt(call: Call, position: number): string {
  const found: Argument | undefined = call.args[position]
  if (found?.kind !== 'word') throw unknown(call)
  return found.text
}

function numberAt(call: Call, position: number): number {
  return Number(wordAt(call, position))
}

function unknown(call: Call): TraceError {
  return new TraceError(`Cannot replay ${call.name}(${call.args.map((arg) => arg.kind).join(', ')})`)
}
