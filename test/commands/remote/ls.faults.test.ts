import '../../support/node-version.ts'
import '../../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { after, describe, it } from 'node:test'
import { executable } from '../../support/executable.ts'
import { hostName, openServerOfHosts } from './client-home.ts'

const FEW = 1_000
const MANY = 100_000
/** What a list of any length may take beside a short one: pieces on their way, and what was not collected yet. */
const MORE_MEBIBYTES_MAX = 32

describe('connbook ls of many records', async () => {
  const { environment } = await openServerOfHosts({ after }, MANY)

  /** Lines, and peak memory as the kernel has counted it by the last piece. */
  async function measure(...flags: string[]) {
    const child = spawn(executable, ['ls', ...flags], {
      env: environment,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let [lines, peakMebibytes] = [0, 0]
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      lines += text.split('\n').length - 1
      const kibibytes = /^VmHWM:\s+(\d+) kB$/m.exec(statusOf(child.pid))?.[1]
      peakMebibytes = Math.max(peakMebibytes, Number(kibibytes ?? 0) / 1024)
    })
    const [code] = await once(child, 'close')
    assert.equal(code, 0)
    return { lines, peakMebibytes }
  }

  it('takes no more memory than of few', { skip: process.platform !== 'linux' }, async () => {
    const few = await measure('--prefix', hostName(0).slice(0, -3))
    const many = await measure()
    assert.deepEqual([few.lines, many.lines], [FEW, MANY])
    assert.ok(few.peakMebibytes > 0)
    const more = many.peakMebibytes - few.peakMebibytes
    assert.ok(more <= MORE_MEBIBYTES_MAX, `${many.peakMebibytes} MiB, ${few.peakMebibytes} MiB of few`)
  })
})

/** Reads the status of a process that may have ended. */
function statusOf(pid: number | undefined): string {
  try {
    return readFileSync(`/proc/${pid}/status`, 'utf8')
  } catch {
    return ''
  }
}
