import { readdirSync, readFileSync } from 'node:fs'

/** Whether a process has a thread of this name (proc_pid_task(5)). */
export function hasThread(pid: number | undefined, name: string): boolean {
  const threads = `/proc/${pid}/task`
  return readdirSync(threads).some((id) => readFileSync(`${threads}/${id}/comm`, 'utf8').trim() === name)
}
