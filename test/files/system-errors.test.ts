import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { parseCommandLine } from '../../src/command-line/command-line.ts'
import { serverFlags } from '../../src/command-line/options.ts'
import { describeError } from '../../src/commands/program.ts'
import { type OpenFile, realFileSystem } from '../../src/files/file-system.ts'
import { startService } from '../../src/service/service.ts'
import { createFailingFiles, systemError } from '../support/failing-files.ts'
import { createMemoryLog } from '../support/memory-log.ts'
import { usedFolder } from '../support/service.ts'

/** Starts and stops a server whose call number `failing` fails. @returns The message of its error, and all calls. */
async function runWith(t: TestContext, failing: number, code: string) {
  const opened: OpenFile[] = []
  const files = createFailingFiles({
    ...realFileSystem,
    async open(path, flags, mode) {
      const file = await realFileSystem.open(path, flags, mode)
      opened.push(file)
      return file
    },
  })
  files.before = (operation, path) => {
    if (files.calls.length - 1 !== failing) return
    throw Object.assign(systemError(code, path), { syscall: operation })
  }
  const args = ['--data', await usedFolder(t), '--host', '127.0.0.1', '--port', '0']
  const { options } = parseCommandLine(args, {}, serverFlags)
  try {
    const service = await startService({ options, environment: {}, log: createMemoryLog(), files })
    await service.stop()
    return { message: undefined, calls: files.calls }
  } catch (error) {
    return { message: describeError(error), calls: files.calls }
  } finally {
    // A start that fails leaves some open, because its process ends.
    await Promise.allSettled(opened.map((file) => file.close()))
  }
}

describe('an error of any call for a file, at the start of a server', () => {
  for (const code of ['EACCES', 'ENOENT', 'EBADF'])
    it(`says what, why and what to do: ${code}`, async (t) => {
      const { calls } = await runWith(t, -1, code)
      assert.ok(calls.length > 20)
      const bare: string[] = []
      for (const [i, call] of calls.entries()) {
        // What fails the first time says the same later.
        if (calls.indexOf(call) < i) continue
        const { message = 'Cannot x: y; z' } = await runWith(t, i, code)
        if (!/^[^\n]+: [^\n]+; [^\n]+$/.test(message)) bare.push(`${call}: ${message}`)
        if (message.includes('made by the test')) bare.push(`${call}: ${message}`)
      }
      assert.deepEqual(bare, [])
    })
})
