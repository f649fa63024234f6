import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { fileCalls, foreignCalls } from './trace-disk.ts'
import { parseTrace, type TraceEvent } from './trace-parser.ts'

/** More than the longest write, a slice of a snapshot. */
const STRING_BYTES_MAX = 8 * 1024 * 1024

/** How to run a command so that its system calls are recorded. */
export interface Trace {
  /** The command that runs it. */
  readonly command: readonly string[]
  /** One thread for files, so that no file is changed while it is being synced. */
  readonly environment: NodeJS.ProcessEnv
  /** Reads the recording once the command has ended. */
  read(): Promise<TraceEvent[]>
}

export async function prepareTrace(t: TestContext): Promise<Trace> {
  const file = join(await temporaryFolder(t), 'trace')
  // The question mark permits a call that this machine's kernel lacks.
  const calls = [...fileCalls, ...foreignCalls].map((name) => `?${name}`).join()
  const options = ['-f', '-y', '-xx', '-s', String(STRING_BYTES_MAX), '--seccomp-bpf', '-e', `trace=${calls}`]
  return {
    command: ['strace', ...options, '-o', file, '--'],
    environment: { UV_THREADPOOL_SIZE: '1', UV_USE_IO_URING: '0' },
    read: async () => parseTrace(await readFile(file, 'latin1')),
  }
}
