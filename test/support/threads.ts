import { readdirSync, readFileSync } from 'node:fs'
import { systemCode } from '../../src/errors.ts'

/** Whether a process has a thread of this name (proc_pid_task(5)). */
export function hasThread(pid: number | undefined, name: string): boolean {
  return readdirSync(`/proc/${pid}/task`).some((id) => nameOf(`/proc/${pid}/task/${id}`) === name)
}

/** Undefined for a thread that has ended meanwhile. */
function nameOf(thread: string): string | undefined {
  try {
    return readFileSync(`${thread}/comm`, 'utf8').trim()
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes(systemCode(error) ?? '')) return undefined
    throw error
  }
}
