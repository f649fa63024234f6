import assert from 'node:assert/strict'
import { runCommand } from '../support/command.ts'
import type { Finished } from '../support/executable.ts'
import { photograph } from './photograph.ts'

/** Runs `check` on a folder, which must not change by a single bit. */
export async function check(folder: string, outputError?: 'ENOSPC'): Promise<Finished> {
  const before = await photograph(folder)
  const finished = await runCommand(['check', '--data', folder], { outputError })
  assert.deepEqual(await photograph(folder), before)
  return finished
}

/** What `check` reports about each file, by name. */
export function said(stdout: string): Record<string, string> {
  const lines = stdout.split('\n').filter((line) => line.startsWith('  '))
  return Object.fromEntries(lines.map((line) => line.trim().split(/ {2,}/, 2) as [string, string]))
}
