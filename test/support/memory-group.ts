import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { systemCode } from '../../src/errors.ts'
import { eventually } from './eventually.ts'
import type { Lifetime } from './temporary-folder.ts'

const ROOT = '/sys/fs/cgroup'
const MEBIBYTE = 1024 * 1024

/** A control group (cgroups(7)) with a limit on memory. */
export interface MemoryGroup {
  /** For `through`: runs a command in the group. */
  readonly through: string[]
  /** MiB that no file can take back: anonymous memory, and the kernel's for the group. */
  usedMebibytes(): number
}

/** What differs between the versions of control groups. */
interface Version {
  /** The folder in which a group can be made. */
  readonly parent: string
  readonly isFirst: boolean
}

const version = findVersion()
let groups = 0

/** For the `skip` of a test that needs a group. */
export const noMemoryGroups: string | false = whyNot()

/** Makes a group without swap, which ends with all its processes when the test ends. */
export function makeMemoryGroup(t: Lifetime, mebibytes: number): MemoryGroup {
  if (version === undefined) throw new Error('There are no control groups')
  const { isFirst } = version
  const folder = makeFolder(version)
  t.after(() => eventually('the control group is gone', () => endProcesses(folder) && isRemoved(folder)))
  const bytes = String(mebibytes * MEBIBYTE)
  const limits = isFirst
    ? { 'memory.limit_in_bytes': bytes, 'memory.memsw.limit_in_bytes': bytes }
    : { 'memory.max': bytes, 'memory.swap.max': '0' }
  for (const [file, limit] of Object.entries(limits))
    if (existsSync(join(folder, file))) writeFileSync(join(folder, file), limit)
  return {
    through: ['/bin/sh', '-c', 'echo $$ > "$0" && exec "$@"', join(folder, 'cgroup.procs')],
    usedMebibytes() {
      const statistics = readFileSync(join(folder, 'memory.stat'), 'utf8')
      const figure = (name: string) => Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(statistics)?.[1])
      const kernel = isFirst
        ? Number(readFileSync(join(folder, 'memory.kmem.usage_in_bytes'), 'utf8'))
        : figure('kernel')
      return (figure(isFirst ? 'rss' : 'anon') + kernel) / MEBIBYTE
    },
  }
}

/** A group is made below the own one, or, in version 2, below the nearest that gives its groups limits on memory. */
function findVersion(): Version | undefined {
  if (process.platform !== 'linux') return undefined
  const own = readFileSync('/proc/self/cgroup', 'utf8')
  const first = /^\d+:(?:[^:]*,)?memory(?:,[^:]*)?:(.*)$/m.exec(own)?.[1]
  if (first !== undefined) return { parent: join(ROOT, 'memory', first), isFirst: true }
  let parent = join(ROOT, /^0::(.*)$/m.exec(own)?.[1] ?? '')
  for (; parent.startsWith(ROOT); parent = dirname(parent)) {
    const file = join(parent, 'cgroup.subtree_control')
    if (existsSync(file) && /\bmemory\b/.test(readFileSync(file, 'utf8'))) return { parent, isFirst: false }
  }
  return undefined
}

function whyNot(): string | false {
  if (version === undefined) return 'this machine has no control groups with a limit on memory'
  try {
    rmdirSync(makeFolder(version))
    return false
  } catch (error) {
    return `this account cannot make a control group (${systemCode(error)})`
  }
}

function makeFolder({ parent }: Version): string {
  groups += 1
  const folder = join(parent, `connbook-test-${process.pid}-${groups}`)
  mkdirSync(folder)
  return folder
}

/** Ends all processes of a group; false if there were any. */
function endProcesses(folder: string): boolean {
  const pids = readFileSync(join(folder, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean)
  for (const pid of pids) {
    try {
      process.kill(Number(pid), 'SIGKILL')
    } catch (error) {
      if (systemCode(error) !== 'ESRCH') throw error
    }
  }
  return pids.length === 0
}

/** False while the kernel still has something of an ended process. */
function isRemoved(folder: string): boolean {
  try {
    rmdirSync(folder)
    return true
  } catch (error) {
    if (systemCode(error) === 'EBUSY') return false
    throw error
  }
}
