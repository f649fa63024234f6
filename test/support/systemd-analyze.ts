import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** The highest exposure score that a unit may have, of 10. */
export const EXPOSURE_MAX = 2

/** What systemd reports about units; the executable that they name must exist. */
export async function complaints(...files: string[]): Promise<string> {
  const { stdout, stderr } = await run('systemd-analyze', ['verify', '--man=no', ...files]).catch(
    (error: { stdout: string; stderr: string }) => error,
  )
  return stdout + stderr
}

/** How much a unit exposes of the system, as systemd rates it. */
export async function exposure(file: string): Promise<number> {
  const { stdout } = await run('systemd-analyze', ['security', '--offline=true', '--no-pager', file])
  const found = /Overall exposure level for \S+: ([\d.]+)/.exec(stdout)?.[1]
  return Number(found ?? assert.fail(stdout))
}
