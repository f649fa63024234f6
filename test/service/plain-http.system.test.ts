import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, it, type TestContext } from 'node:test'
import { makeCertificate } from '../support/certificate.ts'
import { eventually } from '../support/eventually.ts'
import { executable } from '../support/executable.ts'
import { freePort } from '../support/free-port.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

describe('the start', () => {
  for (const [flags, isWarned] of [
    [[], true],
    [['--host', '0.0.0.0'], true],
    [['--host', '127.0.0.1'], false],
    [['--host', 'localhost'], false],
  ] as const) {
    it(`${isWarned ? 'warns' : 'does not warn'} about plain HTTP with ${flags.join(' ') || 'no --host'}`, async (t) => {
      assert.equal((await eventsOfStart(t, flags)).includes('plain_http'), isWarned)
    })
  }

  it('does not warn about plain HTTP with TLS', async (t) => {
    const { certPath, keyPath } = await makeCertificate(t)
    const events = await eventsOfStart(t, ['--tls-cert', certPath, '--tls-key', keyPath])
    assert.ok(!events.includes('plain_http'))
  })
})

/** The log of the executable until it serves, and of the stop that follows. */
async function eventsOfStart(t: TestContext, flags: readonly string[]): Promise<string[]> {
  const data = await temporaryFolder(t)
  // With several addresses at one port, port 0 is free on the first one alone.
  const args = ['--port', String(await freePort()), '--data', data, ...flags]
  const child = spawn(executable, args, { stdio: ['ignore', 'ignore', 'pipe'] })
  t.after(() => child.kill('SIGKILL'))
  const exited = once(child, 'close')
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  await eventually('it serves', () => stderr.includes('"event":"first_start"'))
  child.kill('SIGTERM')
  assert.deepEqual(await exited, [0, null])
  const lines = stderr.split('\n').slice(0, -1)
  return lines.map((line) => (JSON.parse(line) as { event: string }).event)
}
