import { basename, dirname } from 'node:path'
import { systemError } from '../../support/failing-files.ts'
import type { Chooser } from './chooser.ts'
import { Inode } from './inode.ts'

/** What is on a disk, all of it durable. */
export interface DiskImage {
  /** Path and content, each folder before what is in it; a folder has no content. `/` is not among them. */
  readonly entries: ReadonlyMap<string, Buffer | undefined>
}

type Entry = Inode | Folder

class Folder {
  readonly visible = new Map<string, Entry>()
  readonly durable = new Map<string, Entry>()
}

interface Place {
  readonly folder: Folder
  readonly name: string
}

/** A file or folder that appeared (`to`), vanished (`from`) or got another name (both). */
interface NameChange {
  readonly entry: Entry
  readonly from?: Place
  readonly to?: Place
}

/**
 * A disk that forgets what was not synced when the power fails.
 *
 * Only what POSIX promises is kept for certain: a `sync` of a file covers its bytes and its size but not its name; the
 * names in a folder need a sync of that folder. Each unsynced write is independently dropped, kept or half kept. Each
 * change of a name is whole or absent: the changes of one file or folder keep their order, those of different ones
 * reach the disk in any combination, even if they take or free the same name.
 *
 * Paths are absolute and plain. A call that a system would refuse throws an error with the system's code.
 */
export class VolatileDisk {
  readonly #root = new Folder()
  #unsyncedNames: NameChange[] = []

  /** @param image What a crash left; without it the disk holds only `/`. */
  constructor(image: DiskImage = { entries: new Map() }) {
    for (const [path, content] of image.entries) {
      const { folder, name } = this.#placeOf(path)
      const entry = content === undefined ? new Folder() : new Inode(content)
      folder.visible.set(name, entry)
      folder.durable.set(name, entry)
    }
  }

  mkdir(path: string): void {
    this.#change({ entry: new Folder(), to: this.#freePlaceOf(path) })
  }

  /** Makes an empty file. The returned inode stays valid when the file is renamed or unlinked. */
  create(path: string): Inode {
    const inode = new Inode()
    this.#change({ entry: inode, to: this.#freePlaceOf(path) })
    return inode
  }

  find(path: string): Inode | 'folder' | undefined {
    const entry = this.#lookUp(path)
    return entry instanceof Folder ? 'folder' : entry
  }

  /** The names in a folder, as programs see them. */
  entries(folder: string): string[] {
    return [...this.#folderAt(folder).visible.keys()]
  }

  write(inode: Inode, offset: number, bytes: Uint8Array): void {
    inode.write(offset, bytes)
  }

  truncate(inode: Inode, length: number): void {
    inode.truncate(length)
  }

  /** As programs see it. */
  content(inode: Inode): Buffer {
    return inode.content
  }

  /** As fsync and fdatasync do: content and size are durable, the name is not. */
  sync(inode: Inode): void {
    inode.sync()
  }

  /**
   * As a failed fsync does: the kernel marks the pages clean, so no later sync writes them; programs still see them,
   * and after a crash they may be on disk or not.
   */
  failSync(inode: Inode): void {
    inode.failSync()
  }

  /** Makes the names in a folder durable. */
  syncFolder(path: string): void {
    const folder = this.#folderAt(path)
    const reached = new Set<Entry>()
    for (const { entry, from, to } of this.#unsyncedNames) {
      if (from?.folder === folder || to?.folder === folder) reached.add(entry)
    }
    for (const change of this.#unsyncedNames) {
      if (reached.has(change.entry)) applyChange(change, (changed) => changed.durable)
    }
    this.#unsyncedNames = this.#unsyncedNames.filter(({ entry }) => !reached.has(entry))
  }

  rename(from: string, to: string): void {
    const entry = this.#getEntry(from)
    const target = this.#lookUp(to)
    if (target === entry) return
    if (target instanceof Folder) throw systemError('EISDIR', to)
    this.#change({ entry, from: this.#placeOf(from), to: this.#placeOf(to) })
  }

  unlink(path: string): void {
    const entry = this.#getEntry(path)
    if (entry instanceof Folder) throw systemError('EISDIR', path)
    this.#change({ entry, from: this.#placeOf(path) })
  }

  rmdir(path: string): void {
    const entry = this.#folderAt(path)
    if (entry.visible.size > 0) throw systemError('ENOTEMPTY', path)
    this.#change({ entry, from: this.#placeOf(path) })
  }

  /** Whether a power loss now can have only one outcome. */
  get isDurable(): boolean {
    if (this.#unsyncedNames.length > 0) return false
    return filesBelow(this.#root, (folder) => folder.visible).every((inode) => inode.isDurable)
  }

  /** What a power loss at this moment may leave. The disk itself stays as it is. */
  crash(choose: Chooser): DiskImage {
    const names = new Map<Folder, Map<string, Entry>>()
    const namesOf = (folder: Folder) => {
      const found = names.get(folder) ?? new Map(folder.durable)
      names.set(folder, found)
      return found
    }
    const lagging = new Set<Entry>()
    for (const change of this.#unsyncedNames) {
      const isKept = choose.keepsChange() && !lagging.has(change.entry)
      if (isKept) applyChange(change, namesOf)
      else lagging.add(change.entry)
    }

    const entries = new Map<string, Buffer | undefined>()
    const contents = new Map<Inode, Buffer>()
    const visit = (folder: Folder, path: string) => {
      for (const [name, entry] of namesOf(folder)) {
        const entryPath = `${path}/${name}`
        if (entry instanceof Folder) {
          entries.set(entryPath, undefined)
          visit(entry, entryPath)
        } else {
          const content = contents.get(entry) ?? entry.surviving(choose)
          contents.set(entry, content)
          entries.set(entryPath, content)
        }
      }
    }
    visit(this.#root, '')
    return { entries }
  }

  #change(change: NameChange) {
    applyChange(change, (folder) => folder.visible)
    this.#unsyncedNames.push(change)
  }

  #placeOf(path: string): Place {
    return { folder: this.#folderAt(dirname(path)), name: basename(path) }
  }

  #freePlaceOf(path: string): Place {
    if (this.#lookUp(path) !== undefined) throw systemError('EEXIST', path)
    return this.#placeOf(path)
  }

  #folderAt(path: string): Folder {
    const entry = this.#getEntry(path)
    if (!(entry instanceof Folder)) throw systemError('ENOTDIR', path)
    return entry
  }

  #getEntry(path: string): Entry {
    const entry = this.#lookUp(path)
    if (entry === undefined) throw systemError('ENOENT', path)
    return entry
  }

  #lookUp(path: string): Entry | undefined {
    let entry: Entry | undefined = this.#root
    for (const name of path.split('/').filter((part) => part !== '')) {
      if (!(entry instanceof Folder)) return undefined
      entry = entry.visible.get(name)
    }
    return entry
  }
}

function applyChange({ entry, from, to }: NameChange, namesOf: (folder: Folder) => Map<string, Entry>): void {
  if (from !== undefined && namesOf(from.folder).get(from.name) === entry) {
    namesOf(from.folder).delete(from.name)
  }
  if (to !== undefined) namesOf(to.folder).set(to.name, entry)
}

function filesBelow(folder: Folder, namesOf: (folder: Folder) => Map<string, Entry>): Inode[] {
  return [...namesOf(folder).values()].flatMap((entry) =>
    entry instanceof Folder ? filesBelow(entry, namesOf) : [entry],
  )
}
