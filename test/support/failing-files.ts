import { type FileSystem, type OpenFile, realFileSystem } from '../../src/files/file-system.ts'

export type Operation = keyof FileSystem | keyof OpenFile

/** The real file system, which fails when and where a test says so. */
export interface FailingFiles extends FileSystem {
  /**
   * Called before each operation with the path it is for; throws to make it fail, or returns a promise to hold it up.
   */
  before: (operation: Operation, path: string) => void | Promise<void>
  /** Most bytes that one `write` takes. */
  writeBytesMax: number
  /** Most bytes that one `read` gives. */
  readBytesMax: number
  /** Every operation so far, as `operation path`. */
  readonly calls: string[]
}

/** An error as the system gives it. */
export function systemError(code: string, path?: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: made by the test`), { code, ...(path ? { path } : {}) })
}

/** Makes an operation on files whose path holds `part` fail, the first `times` times. */
export function failOn(files: FailingFiles, failing: Operation, part: string, code: string, times = 1): void {
  let left = times
  files.before = (operation, path) => {
    if (operation === failing && path.includes(part) && left-- > 0) throw systemError(code, path)
  }
}

/** An operation that waits for the test. */
export interface HeldOperation {
  /** Resolves when it has begun. */
  readonly begun: Promise<void>
  release(): void
  fail(error: Error): void
}

/** Holds up the next such operation; later ones proceed as usual. */
export function holdUp(files: FailingFiles, held: Operation, part = ''): HeldOperation {
  const begun = Promise.withResolvers<void>()
  const end = Promise.withResolvers<void>()
  let isNext = true
  files.before = (operation, path) => {
    if (operation !== held || !path.includes(part) || !isNext) return
    isNext = false
    begun.resolve()
    return end.promise
  }
  return { begun: begun.promise, release: end.resolve, fail: end.reject }
}

/** @param real How files are reached. */
export function createFailingFiles(real = realFileSystem): FailingFiles {
  const run = async <T>(operation: Operation, path: string, action: () => Promise<T>): Promise<T> => {
    files.calls.push(`${operation} ${path}`)
    await files.before(operation, path)
    return action()
  }
  const wrap = (file: OpenFile, path: string): OpenFile => ({
    write: (bytes, offset, length, position) =>
      run('write', path, () => file.write(bytes, offset, Math.min(length, files.writeBytesMax), position)),
    read: (bytes, offset, length, position) =>
      run('read', path, () => file.read(bytes, offset, Math.min(length, files.readBytesMax), position)),
    sync: () => run('sync', path, () => file.sync()),
    datasync: () => run('datasync', path, () => file.datasync()),
    truncate: (length) => run('truncate', path, () => file.truncate(length)),
    chown: (uid, gid) => run('chown', path, () => file.chown(uid, gid)),
    chmod: (mode) => run('chmod', path, () => file.chmod(mode)),
    stat: () => run('stat', path, () => file.stat()),
    close: () => file.close(),
  })
  const files: FailingFiles = {
    before: () => {},
    writeBytesMax: Number.POSITIVE_INFINITY,
    readBytesMax: Number.POSITIVE_INFINITY,
    calls: [],
    open: (path, flags, mode) =>
      run('open', path, async () => wrap(await real.open(path, flags, mode), path)),
    readFile: (path) => run('readFile', path, () => real.readFile(path)),
    rename: (from, to) => run('rename', to, () => real.rename(from, to)),
    unlink: (path) => run('unlink', path, () => real.unlink(path)),
    mkdir: (path, mode) => run('mkdir', path, () => real.mkdir(path, mode)),
    rmdir: (path) => run('rmdir', path, () => real.rmdir(path)),
    chmod: (path, mode) => run('chmod', path, () => real.chmod(path, mode)),
    readdir: (path) => run('readdir', path, () => real.readdir(path)),
    access: (path, mode) => run('access', path, () => real.access(path, mode)),
    stat: (path) => run('stat', path, () => real.stat(path)),
    lstat: (path) => run('lstat', path, () => real.lstat(path)),
    freeBytes: (path) => real.freeBytes(path),
    lock: (path) => real.lock(path),
    reach: (path, use) => real.reach(path, use),
  }
  return files
}
