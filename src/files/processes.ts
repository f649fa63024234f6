import { readdirSync, readFileSync, readlinkSync, realpathSync, statSync } from 'node:fs'
import { basename } from 'node:path'

// All of this is Linux only. On other systems, and without /proc, nothing is found.

/** Names processes for a message: "pid 12, nginx". A name that cannot be read is left out. */
export function describeProcesses(pids: readonly number[]): string {
  return pids.map((pid) => [`pid ${pid}`, ...findName(pid)].join(', ')).join('; ')
}

/** The processes of which a descriptor leads to `target`: a path, or `socket:[INODE]`. Root sees those of all accounts. */
export function findProcessesWith(target: string): number[] {
  return listPids().filter((pid) => hasOpen(pid, target))
}

/** Whether a descriptor of a process leads to `target`; false also if this account may not know. */
export function hasOpen(pid: number, target: string): boolean {
  const folder = `/proc/${pid}/fd`
  return listFolder(folder).some((descriptor) => linkOf(`${folder}/${descriptor}`) === target)
}

/** The lines of a file of /proc, split into columns; none if there is no such file. */
export function readProcTable(path: string): string[][] {
  const lines = textOf(path)?.split('\n') ?? []
  return lines.map((line) => line.trim().split(/\s+/)).filter(([first]) => first !== '')
}

/** Not /proc/PID/comm, which is the name of a thread. */
function findName(pid: number): string[] {
  const [program = ''] = textOf(`/proc/${pid}/cmdline`)?.split('\0') ?? []
  // A program may have put a title of many words there.
  const name = basename(program.split(' ')[0] ?? '').replace(/\p{Cc}/gu, '')
  return name === '' ? [] : [name]
}

function listPids(): number[] {
  return listFolder('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number)
}

function listFolder(path: string): string[] {
  try {
    return readdirSync(path)
  } catch {
    return []
  }
}

function linkOf(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch {
    return undefined
  }
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

/**
 * Names the process that holds a `lockFile`, for a message: "pid 12, connbook".
 *
 * @returns undefined when it cannot be found: on other systems than Linux, or if the process runs in another container.
 */
export function describeLockHolder(path: string): string | undefined {
  const found = describeProcesses(findLockHolders(path))
  return found === '' ? undefined : found
}

/** The processes that hold a lock for writing on a file. */
function findLockHolders(path: string): number[] {
  const file = identityOf(path)
  if (file === undefined) return []
  // The columns of /proc/locks (proc_locks(5)): number, kind, mode, access, pid, device:inode, range.
  const locks = readProcTable('/proc/locks').filter(([, kind, , access]) => {
    return (kind === 'POSIX' || kind === 'OFDLCK') && access === 'WRITE'
  })
  const holders = locks.flatMap(([, , , , pid, place = '']) => {
    const [major, minor, inode] = place.split(':')
    if (inode !== file.inode) return []
    // Btrfs shows another device there than for the file.
    const isSame = `${major}:${minor}` === file.device || hasOpen(Number(pid), file.path)
    return isSame && Number(pid) > 0 ? [Number(pid)] : []
  })
  return [...new Set(holders)]
}

function identityOf(path: string) {
  try {
    const { dev, ino } = statSync(path, { bigint: true })
    // As in <sys/sysmacros.h>.
    const major = ((dev >> 8n) & 0xfffn) | ((dev >> 32n) & 0xfffff000n)
    const minor = (dev & 0xffn) | ((dev >> 12n) & 0xffffff00n)
    const hex = (part: bigint) => part.toString(16).padStart(2, '0')
    return { path: realpathSync(path), device: `${hex(major)}:${hex(minor)}`, inode: String(ino) }
  } catch {
    return undefined
  }
}
