import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
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
