import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { FREE_FAILURES, THROTTLE_PAUSE_MS_MIN } from '../../../src/auth/throttle.ts'
import { dataFiles } from '../../../src/files/data-folder.ts'
import { getToken, logIn, pathOf } from '../../support/api.ts'
import { missing } from '../../support/debian.ts'
import { startExecutable } from '../../support/executable.ts'
import { fakeTimeFiles, fakeTimeLibrary, noFaketime } from '../../support/fake-time.ts'
import { type Ask, createClient, type Headers, namesIn, recordsIn } from '../../support/http-client.ts'
import { admin, client, usedFolder } from '../../support/service.ts'
import { draft } from '../../support/store.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** The last log line may be a little old. */
const TOLERANCE_MS = 60_000
/** Delay of each write on a slow disk. */
const SLOW_WRITE_US = 300_000

/** Difference from the right time, in ms, or the year at whose start the clock begins. */
type Offset = number | '1970'

/** Clock settings for the starts after a refusal. */
const LATER: readonly Offset[] = [0, -HOUR_MS, '1970', 0]

/** A folder, and servers on it whose clock the test sets. */
async function setUp(t: TestContext) {
  const root = await temporaryFolder(t)
  const [folder, clockFile] = [join(root, 'data'), join(root, 'clock')]
  await cp(await usedFolder(t), folder, { recursive: true })
  const setClock = async (offset: Offset) => {
    const ms = offset === '1970' ? DAY_MS - Date.now() : offset
    await writeFile(clockFile, `${ms < 0 ? '-' : '+'}${Math.abs(ms) / 1000}\n`)
  }
  await setClock(0)
  const environment = {
    LD_PRELOAD: fakeTimeLibrary,
    FAKETIME_TIMESTAMP_FILE: clockFile,
    FAKETIME_NO_CACHE: '1',
    DONT_FAKE_MONOTONIC: '1',
    NO_FAKE_STAT: '1',
  }
  return {
    folder,
    setClock,
    start: async (through: string[] = []) => {
      const server = await startExecutable(t, ['--data', folder], { environment, through })
      // What a killed server leaves would disturb a later process with the same id.
      server.process.once('exit', () => {
        for (const path of fakeTimeFiles(server.process.pid ?? 0)) rmSync(path, { force: true })
      })
      return server
    },
  }
}

/** The last time in a server's log. */
function lastTime(stderr: string): number {
  const line = stderr.trimEnd().split('\n').at(-1) ?? ''
  return Date.parse((JSON.parse(line) as { time: string }).time)
}

async function isGood(url: string, headers: Headers): Promise<boolean> {
  const { status } = await createClient(url, headers)('GET', '/configurations/')
  assert.ok([200, 403].includes(status), String(status))
  return status === 200
}

async function addRecord(ask: Ask, name: string): Promise<number> {
  const answer = await ask('POST', '/configurations/', { body: draft(name) })
  assert.equal(answer.status, 200, answer.text)
  return recordsIn(answer)[0]?.id ?? assert.fail('no record')
}

/** The revision of the first change in each frame of a journal. */
async function revisionsIn(folder: string): Promise<number[]> {
  const lines = (await readFile(join(folder, dataFiles.journal), 'utf8')).trimEnd().split('\n')
  return lines.slice(1).map((line) => Number(line.split(' ')[2]))
}

function assertRising(numbers: readonly number[]) {
  for (const [i, number] of numbers.entries())
    assert.ok(i === 0 || number > (numbers[i - 1] ?? 0), numbers.join())
}

describe('a wrong clock', { skip: noFaketime }, () => {
  const offsets: Record<string, Offset> = {
    'at 1970': '1970',
    'an hour behind': -HOUR_MS,
    'a day ahead': DAY_MS,
  }
  for (const [what, offset] of Object.entries(offsets)) {
    it(`${what} at a start does not affect ids, revisions and records`, async (t) => {
      const { folder, setClock, start } = await setUp(t)
      const ids: number[] = []
      for (const [round, at] of [0, offset, 0].entries()) {
        await setClock(at)
        const server = await start()
        const right = at === '1970' ? DAY_MS : Date.now() + at
        assert.ok(Math.abs(lastTime(server.stderr()) - right) < TOLERANCE_MS, 'the clock is not set')
        const ask = createClient(server.url, await getToken(server.url, client))
        ids.push(await addRecord(ask, `a ${round}`), await addRecord(ask, `b ${round}`))
        assert.equal((await ask('DELETE', pathOf(`b ${round}`))).status, 209)
        const names = namesIn(await ask('GET', '/configurations/'))
        assert.deepEqual(
          names,
          Array.from({ length: round + 1 }, (_, i) => `a ${i}`),
        )
        await server.stop(round === 1 ? 'SIGKILL' : 'SIGTERM')
      }
      assertRising(ids)
      assertRising(await revisionsIn(folder))
    })
  }

  it('that jumps does not affect a running server, its ids, revisions and credentials', async (t) => {
    const { folder, setClock, start } = await setUp(t)
    const server = await start()
    const token = await getToken(server.url, client)
    const ids: number[] = []
    for (const [i, offset] of ([0, -HOUR_MS, '1970', HOUR_MS / 2, -DAY_MS, 0] as const).entries()) {
      await setClock(offset)
      assert.equal((await createClient(server.url)('GET', '/readyz')).status, 200)
      assert.ok(await isGood(server.url, token), `at ${offset}`)
      assert.ok(await isGood(server.url, await logIn(server.url, admin)), `new at ${offset}`)
      ids.push(await addRecord(createClient(server.url, token), `n ${i}`))
    }
    assertRising(ids)
    assertRising(await revisionsIn(folder))
    assert.equal(await server.stop(), 0)
  })

  it('does not change the pause after failed logins', async (t) => {
    const { setClock, start } = await setUp(t)
    const server = await start()
    const ask = createClient(server.url)
    const attempt = () => ask('POST', '/login', { body: { ...admin, password: 'wrong' } })
    const failed = await Promise.all(Array.from({ length: FREE_FAILURES }, attempt))
    for (const { status } of failed) assert.notEqual(status, 429)
    for (const offset of [0, DAY_MS, -DAY_MS, '1970', 0] as const) {
      await setClock(offset)
      const { status, headers } = await attempt()
      assert.equal(status, 429, `at ${offset}`)
      const seconds = Number(headers['retry-after'])
      assert.ok(seconds > 0 && seconds <= THROTTLE_PAUSE_MS_MIN / 1000, `${seconds} s at ${offset}`)
    }
  })
})

describe('a credential refused as expired', { skip: noFaketime }, () => {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    it(`stays refused when the clock is set back, and after a restart by ${signal}`, async (t) => {
      const { setClock, start } = await setUp(t)
      const first = await start()
      const [session, token] = [await logIn(first.url, admin), await getToken(first.url, client)]
      assert.deepEqual([await isGood(first.url, session), await isGood(first.url, token)], [true, true])

      await setClock(DAY_MS)
      assert.deepEqual([await isGood(first.url, session), await isGood(first.url, token)], [false, false])
      for (const offset of [0, -HOUR_MS] as const) {
        await setClock(offset)
        assert.deepEqual([await isGood(first.url, session), await isGood(first.url, token)], [false, false])
      }
      await first.stop(signal)

      for (const offset of LATER) {
        await setClock(offset)
        const again = await start()
        assert.deepEqual([await isGood(again.url, session), await isGood(again.url, token)], [false, false])
        assert.ok(await isGood(again.url, await getToken(again.url, client)))
        await again.stop(signal)
      }
    })
  }

  it('stays refused when the process is killed right after the answer, on a slow disk', {
    skip: missing('strace'),
  }, async (t) => {
    const { setClock, start } = await setUp(t)
    await (await start()).stop()
    const inject = `inject=pwrite64:delay_enter=${SLOW_WRITE_US}`
    const first = await start([
      'strace',
      '-D',
      '-f',
      '-qq',
      '-o',
      '/dev/null',
      '-e',
      'trace=pwrite64',
      '-e',
      inject,
    ])
    const token = await getToken(first.url, client)
    await setClock(DAY_MS)
    assert.equal(await isGood(first.url, token), false)
    await first.stop('SIGKILL')
    await setClock(0)
    assert.equal(await isGood((await start()).url, token), false)
  })
})

describe('a revoked credential', { skip: noFaketime }, () => {
  it('stays refused when its revocation was dropped as expired and the clock is set back', async (t) => {
    const { folder, setClock, start } = await setUp(t)
    const first = await start()
    const [ended, other] = [await logIn(first.url, admin), await logIn(first.url, admin)]
    assert.equal((await createClient(first.url, ended)('POST', '/logout')).status, 200)
    assert.deepEqual([await isGood(first.url, ended), await isGood(first.url, other)], [false, true])
    await first.stop('SIGKILL')

    await setClock(DAY_MS)
    const second = await start()
    await second.stop()
    assert.ok(!(await readFile(join(folder, dataFiles.revocations), 'utf8')).includes('jti'))
    await setClock(0)
    const third = await start()
    assert.deepEqual([await isGood(third.url, ended), await isGood(third.url, other)], [false, false])
  })
})
