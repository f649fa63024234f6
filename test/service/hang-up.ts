import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { dataFiles } from '../../src/files/data-folder.ts'
import { eventually } from '../support/eventually.ts'
import { executable, type RunningServer } from '../support/executable.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

interface LogLine {
  readonly event: string
  readonly [field: string]: unknown
}

export function logOf(server: RunningServer): LogLine[] {
  const lines = server.stderr().split('\n').slice(0, -1)
  return lines.map((line) => JSON.parse(line) as LogLine)
}

/** Sends SIGHUP and returns the next log line of this event. */
export async function hangUp(server: RunningServer, event: string): Promise<LogLine> {
  const found = () => logOf(server).filter((line) => line.event === event)
  const before = found().length
  server.process.kill('SIGHUP')
  await eventually(event, () => found().length > before)
  return found().at(-1) ?? assert.fail('just seen')
}

/** Sends SIGHUP to the executable before it listens, and returns what it has logged once it serves. */
export async function eventsAfterEarlyHangUp(
  t: TestContext,
  flags: readonly string[] = [],
): Promise<string[]> {
  const folder = await temporaryFolder(t)
  const always = ['--host', '127.0.0.1', '--port', '0', '--data', folder]
  const child = spawn(executable, [...always, ...flags], { stdio: ['ignore', 'ignore', 'pipe'] })
  t.after(() => child.kill('SIGKILL'))
  const exited = once(child, 'exit')
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const hasKeys = () =>
    access(join(folder, dataFiles.keys)).then(
      () => true,
      () => false,
    )
  await eventually('it has the folder', hasKeys)
  child.kill('SIGHUP')
  await eventually('it has obeyed', () => /reload_ignored|tls_reloaded/.test(stderr))
  const events = stderr.split('\n').slice(0, -1)
  child.kill('SIGTERM')
  assert.deepEqual(await exited, [0, null])
  // A slow start says that it is reading.
  return events.map((line) => (JSON.parse(line) as LogLine).event).filter((event) => event !== 'reading')
}
