import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, watch } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { eventually } from '../../support/eventually.ts'
import { executable, startExecutable } from '../../support/executable.ts'
import { createClient } from '../../support/http-client.ts'
import { firstStartEnvironment } from '../../support/service.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { hostName } from './client-home.ts'

const RECORDS = 10_000
const CHANGES = 400
const CHANGE_EVERY_MS = 50
const LATE_MS = 1_000
const ON_TIME_SHARE = 0.95
const CORE_SHARE_MAX = 0.1
/** The clock that counts the time of a process has so many. */
const TICKS_PER_SECOND = 100

describe('a followed export of many records', { skip: process.platform !== 'linux' }, () => {
  for (const format of ['csv', 'ssh-config'])
    it(`${format}: shows a change within a second, at a tenth of a core`, async (t) => {
      const data = await temporaryFolder(t)
      const server = await startExecutable(t, ['--data', data], {
        environment: firstStartEnvironment,
        isTimed: true,
      })
      const answer = await fetch(`${server.url}/v1/auth/token`, {
        method: 'POST',
        body: JSON.stringify({
          client_id: firstStartEnvironment.CONNBOOK_CLIENT_ID,
          client_secret: firstStartEnvironment.CONNBOOK_CLIENT_SECRET,
        }),
      })
      const { access_token: token } = (await answer.json()) as { access_token: string }
      const ask = createClient(server.url, { Authorization: `Bearer ${token}` })
      const rows = Array.from({ length: RECORDS }, (_, i) => `${hostName(i)},${hostName(i)}.example,22,u0\n`)
      const body = `name,hostname,port,username\n${rows.join('')}`
      assert.equal((await ask('POST', '/v1/import?format=csv', { body })).status, 200)

      const folder = await temporaryFolder(t)
      const file = join(folder, 'out')
      const words = ['export', '--format', format, '--output', file, '--follow', '--server', server.url]
      const child = spawn(executable, words, {
        env: { CONNBOOK_TOKEN: token, PATH: process.env.PATH },
        stdio: 'inherit',
      })
      t.after(() => void child.kill('SIGKILL'))
      await eventually('the file is there', () => textOf(file).includes(hostName(RECORDS - 1)))

      // Every change writes its number into the same record, so the file says how far it is.
      const answeredAt: number[] = []
      const shownAt: number[] = []
      let writes = 0
      const watcher = watch(folder, (_, name) => {
        if (name !== 'out') return
        const upTo = Number(/\bu(\d+)$/m.exec(textOf(file))?.[1] ?? 0)
        if (upTo >= shownAt.length) writes += 1
        while (shownAt.length <= upTo) shownAt.push(performance.now())
      })
      t.after(() => watcher.close())
      const before = ticksOf(child.pid)
      const begin = performance.now()
      for (let n = 1; n <= CHANGES; n++) {
        await pause(Math.max(0, begin + n * CHANGE_EVERY_MS - performance.now()))
        const path = `/configurations/${hostName(0)}`
        const { status } = await ask('PATCH', path, { body: { username: `u${n}` } })
        assert.equal(status, 200)
        answeredAt[n] = performance.now()
      }
      await eventually('the last change is shown', () => shownAt.length > CHANGES)
      const seconds = (performance.now() - begin) / 1000
      const share = (ticksOf(child.pid) - before) / TICKS_PER_SECOND / seconds
      const lateMs = answeredAt.flatMap((at, n) => (shownAt[n] ?? Number.POSITIVE_INFINITY) - at)
      lateMs.sort((a, b) => a - b)
      const late = lateMs[Math.floor(lateMs.length * ON_TIME_SHARE)] ?? Number.POSITIVE_INFINITY
      t.diagnostic(
        `95 % within ${late.toFixed(0)} ms, ${(share * 100).toFixed(1)} % of a core, ${writes} writes`,
      )
      child.kill('SIGTERM')
      assert.deepEqual(await once(child, 'exit'), [0, null])
      assert.ok(late <= LATE_MS, `${late} ms`)
      assert.ok(share <= CORE_SHARE_MAX, `${share * 100} % of a core`)
    })
})

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

/** Time of a process, in user and kernel mode. */
function ticksOf(pid: number | undefined): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')
  return Number(fields[11]) + Number(fields[12])
}
