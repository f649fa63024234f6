import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { inform, OutputError, shown } from '../../src/command-line/output.ts'
import { systemError } from '../support/failing-files.ts'

const failing = (code: string) => () => Promise.reject(systemError(code))

function outputError(message: string) {
  return (error: unknown) => {
    assert.ok(error instanceof OutputError)
    assert.equal(error.message, message)
    assert.ok(error.cause instanceof Error)
    return true
  }
}

describe('an optional message', () => {
  it('is printed to standard output', async () => {
    const printed: string[] = []
    await inform(async (text) => void printed.push(text), 'some text\n')
    assert.deepEqual(printed, ['some text\n'])
  })

  it('is dropped without an error when the reader has gone', async () => {
    await inform(failing('EPIPE'), 'some text\n')
  })

  it('is an error when standard output fails in another way', async () => {
    const expected = outputError('Cannot write to standard output (ENOSPC)')
    await assert.rejects(inform(failing('ENOSPC'), 'some text\n'), expected)
  })
})

describe('required output', () => {
  it('resolves only when it was written', async () => {
    let isPrinted = false
    const printing = new Promise<void>((resolve) =>
      setImmediate(() => {
        isPrinted = true
        resolve()
      }),
    )
    await shown(printing, 'show the keys')
    assert.equal(isPrinted, true)
  })

  it('is an error when it was not written, even if the reader has gone', async () => {
    for (const code of ['ENOSPC', 'EPIPE']) {
      const expected = outputError(`Cannot show the keys (${code}); they are as they were`)
      await assert.rejects(shown(failing(code)(), 'show the keys', '; they are as they were'), expected)
    }
  })
})
