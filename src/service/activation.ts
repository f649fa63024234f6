import { fstatSync, readFileSync } from 'node:fs'
import { UsageError } from '../errors.ts'

/** The first passed descriptor (sd_listen_fds(3)). */
const FIRST_PASSED = 3

/**
 * Takes the listening socket that systemd passes (sd_listen_fds(3)), and removes its variables, so that no child
 * process takes it, too.
 *
 * @returns Its descriptor; undefined if none is passed to this process.
 * @throws {UsageError} if there is more than one.
 */
export function takeActivatedSocket(environment: NodeJS.ProcessEnv): number | undefined {
  const { LISTEN_PID: pid, LISTEN_FDS: count } = environment
  for (const name of ['LISTEN_PID', 'LISTEN_PIDFDID', 'LISTEN_FDS', 'LISTEN_FDNAMES'])
    delete environment[name]
  if (pid !== String(process.pid) || count === undefined || count === '0') return undefined
  if (count !== '1') {
    throw new UsageError(
      `Cannot listen on the ${count} sockets that systemd passes: one is taken; leave one ListenStream= in the unit of the socket`,
    )
  }
  return FIRST_PASSED
}

/** The path of an open Unix socket; undefined if it has none, or the system is not Linux. */
export function findSocketPath(fd: number): string | undefined {
  try {
    const inode = String(fstatSync(fd).ino)
    const rows = readFileSync('/proc/self/net/unix', 'utf8').split('\n')
    const columns = rows.map((row) => /^(?:\S+ +){6}(\d+) (\/.*)$/.exec(row))
    return columns.find((found) => found?.[1] === inode)?.[2]
  } catch {
    return undefined
  }
}
