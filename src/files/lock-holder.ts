import { realpathSync, statSync } from 'node:fs'
import { describeProcesses, hasOpen, readProcTable } from './processes.ts'

/**
 * Names the process that holds a `lockFile`, for a message: "pid 12, connbook".
 *
 * @returns undefined when it cannot be told: on other systems than Linux, or if the process runs in another container.
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
