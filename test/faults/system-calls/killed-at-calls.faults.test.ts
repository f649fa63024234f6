import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { access, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { after, describe, it, type TestContext } from 'node:test'
import { readKeys } from '../../../src/auth/keys.ts'
import { dataFiles, dataPaths } from '../../../src/files/data-folder.ts'
import { getToken } from '../../support/api.ts'
import { runCommand as runHere } from '../../support/command.ts'
import { missing } from '../../support/debian.ts'
import { type RunningServer, runExecutable, startExecutable } from '../../support/executable.ts'
import { type Ask, createClient, recordsIn } from '../../support/http-client.ts'
import { createRandom } from '../../support/random.ts'
import { oneFileThread } from '../../support/strace.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { startInProcess } from '../trace/inspection.ts'
import { Writer } from '../writer.ts'
import { type KillPoints, killAtEach } from './kill-points.ts'
import {
  type Credentials,
  checkEntries,
  growJournal,
  nothing,
  readCredentials,
  tearJournals,
  useFolder,
  withCopy,
} from './used-folder.ts'

const CHANGES = 10
/** The records of the writer come first in it. */
const LIST = '/configurations/?sort=name&page=0&per_page=10'
const TORN = 'deadbeef 41 [{"ad'
const NEW_PASSWORD = 'another battery staple'

const used = await useFolder({ after })

/** The two starts after a kill; the second runs in this process, which is faster. */
const starts = [startToBeKilled, startInProcess]

describe('a kill at a system call', { skip: missing('strace') }, () => {
  it('of the first start leaves a folder that starts, with credentials that work', async (t) => {
    const points: KillPoints[] = [
      { call: 'write', every: 4 },
      { call: 'fsync' },
      { call: 'rename' },
      { call: 'pwrite64' },
      { call: 'mkdir' },
      ...['.', dataFiles.lock, dataFiles.journal, dataFiles.revocations].map((file) => ({
        call: 'openat',
        file,
      })),
    ]
    await killAtEach(t, points, async (throughFor) => {
      const folder = await temporaryFolder(t)
      const data = join(folder, 'data')
      const server = await startTraced(t, data, throughFor(data))
      let told: Credentials | undefined
      if (server !== undefined) {
        told = await readCredentials(data)
        const { username, password } = told
        await createClient(server.url)('POST', '/login', { body: { username, password } }).catch(() => {})
      } else if (await exists(join(data, dataFiles.accounts))) told = await readCredentials(data)
      const isKilled = server === undefined || (await stopTraced(server))

      for (const startNext of starts) {
        const next = await startNext(t, data)
        const credentials = await readCredentials(data)
        told ??= credentials
        assert.deepEqual(credentials, told)
        assert.deepEqual(await tryCredentials(next.url, credentials), { user: true, client: true })
        const bearer = await getToken(next.url, credentials)
        assert.deepEqual(recordsIn(await createClient(next.url, bearer)('GET', '/configurations/')), [])
        await next.stop()
      }
      await checkEntries(data, nothing)
      await rm(folder, { recursive: true })
      return isKilled
    })
  })

  it('of a running or stopping server loses nothing that was acknowledged or shown', async (t) => {
    const { seed } = createRandom()
    t.diagnostic(`seed ${seed}`)
    const points: KillPoints[] = [
      { call: 'write', every: 6 },
      { call: 'fdatasync' },
      { call: 'pwrite64' },
      { call: 'fsync' },
      { call: 'rename' },
      { call: 'openat', file: dataFiles.lock },
      { call: 'openat', file: dataFiles.journal },
    ]
    await killAtEach(t, points, (throughFor) =>
      withCopy(t, used, async (data) => {
        const writer = new Writer('0', createRandom(seed))
        const { isKilled, logout } = await work(t, data, writer, throughFor(data))
        await checkRecords(t, data, writer, { others: 2, logout })
        await checkEntries(data, nothing)
        return isKilled
      }),
    )
  })

  it('of a compaction during changes loses nothing that was acknowledged or shown', async (t) => {
    const { records, ...grown } = await growJournal(t, used)
    const { seed } = createRandom()
    t.diagnostic(`seed ${seed}`)
    const points: KillPoints[] = [
      { call: 'write', every: 9 },
      { call: 'pwrite64' },
      { call: 'fdatasync' },
      { call: 'rename' },
      { call: 'fsync' },
      { call: 'unlink' },
    ]
    await killAtEach(t, points, (throughFor) =>
      withCopy(t, grown, async (data) => {
        const writer = new Writer('0', createRandom(seed))
        const { isKilled, logout } = await work(t, data, writer, throughFor(data))
        if (!isKilled) {
          await access(join(data, dataFiles.snapshot))
          assert.ok(
            !(await exists(join(data, dataFiles.journalOld))),
            'the compaction has not come to its end',
          )
        }
        await checkRecords(t, data, writer, { others: records, logout })
        await checkEntries(data, /^(snapshot\.json|journal\.old\.jsonl)$/)
        return isKilled
      }),
    )
  })

  it('of a start that sets torn tails aside keeps those tails', async (t) => {
    const torn = await tearJournals(t, used, TORN)
    const points: KillPoints[] = [
      { call: 'write', every: 8 },
      { call: 'ftruncate' },
      { call: 'rename' },
      { call: 'fsync' },
      { call: 'pwrite64' },
    ]
    await killAtEach(t, points, (throughFor) =>
      withCopy(t, torn, async (data) => {
        const server = await startTraced(t, data, throughFor(data))
        const isKilled = server === undefined || (await stopTraced(server))
        const nobody = new Writer('0', createRandom(1))
        await checkRecords(t, data, nobody, { others: 2, logout: 'not sent' })
        await checkEntries(data, /^(journal|revocations)\.torn-/)
        const entries = await readdir(data)
        for (const journal of ['journal', 'revocations']) {
          const kept = entries.filter((name) => name.startsWith(`${journal}.torn-`))
          assert.ok(kept.length > 0, `the torn end of ${journal} is lost`)
          for (const name of kept) assert.equal(await readFile(join(data, name), 'utf8'), TORN)
        }
        return isKilled
      }),
    )
  })

  const pointsOfCommands: KillPoints[] = [
    { call: 'write', every: 5 },
    { call: 'rename' },
    { call: 'fsync' },
    { call: 'pwrite64' },
    { call: 'openat', file: '.' },
  ]

  it('of "user add" leaves the user whole or absent', async (t) => {
    const added = { ...used.credentials, username: 'added', password: NEW_PASSWORD }
    await killAtEach(t, pointsOfCommands, (throughFor) =>
      withCopy(t, used, async (data) => {
        const { code } = await runCommand(data, ['user', 'add', 'added'], throughFor(data))
        const found = await tryTwice(t, data, [used.credentials, added])
        assert.deepEqual(found[0], { user: true, client: true })
        if (code === 0) assert.ok(found[1]?.user, 'the user is not there')
        await checkSwept(data)
        return code === null
      }),
    )
  })

  it('of "user passwd" leaves the old password or the new one', async (t) => {
    const changed = { ...used.credentials, password: NEW_PASSWORD }
    await killAtEach(t, pointsOfCommands, (throughFor) =>
      withCopy(t, used, async (data) => {
        const { code } = await runCommand(data, ['user', 'passwd', changed.username], throughFor(data))
        const [before, after] = await tryTwice(t, data, [used.credentials, changed])
        assert.equal(before?.user, !after?.user)
        assert.ok(before?.client)
        if (code === 0) assert.ok(after?.user, 'the old password is still in force')
        if (before.user) assert.equal((await readCredentials(data)).password, used.credentials.password)
        await checkSwept(data)
        return code === null
      }),
    )
  })

  it('of "client rotate" leaves the old secret, the one shown, or one that can be rotated again', async (t) => {
    const words = ['client', 'rotate', used.credentials.client_id]
    await killAtEach(t, pointsOfCommands, (throughFor) =>
      withCopy(t, used, async (data) => {
        const { code, stdout } = await runCommand(data, words, throughFor(data))
        const shown = secretIn(stdout)
        if (code === 0) assert.ok(shown !== undefined, 'the secret is not shown')
        const rotated = { ...used.credentials, client_secret: shown ?? 'none was shown' }
        const [before, after] = await tryTwice(t, data, [used.credentials, rotated])
        assert.ok(before?.user)
        if (shown !== undefined) assert.deepEqual([before.client, after?.client], [false, true])
        if (before.client) {
          assert.equal((await readCredentials(data)).client_secret, used.credentials.client_secret)
        }

        const again = secretIn((await runCommand(data, words)).stdout)
        assert.ok(again !== undefined)
        const [last] = await tryTwice(t, data, [{ ...used.credentials, client_secret: again }])
        assert.ok(last?.client)
        await checkSwept(data)
        return code === null
      }),
    )
  })

  it('of "keys rotate" leaves the old or the new signing key, and every session and token valid', async (t) => {
    await killAtEach(t, pointsOfCommands, (throughFor) =>
      withCopy(t, used, async (data) => {
        const before = await readKeys(dataPaths(data), true)
        const { code } = await runCommand(data, ['keys', 'rotate'], throughFor(data))
        const after = await readKeys(dataPaths(data), true)
        assert.equal(after.length, code === 0 ? 2 : after.length)
        assert.equal(after.at(-1)?.id, before[0]?.id)
        assert.deepEqual(await trySessionsTwice(t, data), [true, true])
        assert.deepEqual(await tryTwice(t, data, [used.credentials]), [{ user: true, client: true }])
        await checkSwept(data)
        return code === null
      }),
    )
  })

  it('of "keys revoke-all" ends every session and token, or none', async (t) => {
    await killAtEach(t, pointsOfCommands, (throughFor) =>
      withCopy(t, used, async (data) => {
        const { code } = await runCommand(data, ['keys', 'revoke-all'], throughFor(data))
        const [session, token] = await trySessionsTwice(t, data)
        assert.equal(session, token)
        if (code === 0) assert.equal(session, false, 'the session is still good')
        assert.deepEqual(await tryTwice(t, data, [used.credentials]), [{ user: true, client: true }])
        await checkSwept(data)
        return code === null
      }),
    )
  })
})

/** Starts the executable, which is killed when it is to stop. */
async function startToBeKilled(t: TestContext, data: string) {
  const { url, stop } = await startExecutable(t, ['--data', data])
  return { url, stop: async () => assert.equal(await stop('SIGKILL'), 'SIGKILL') }
}

/** Starts a server that may be killed; undefined if that was before it listened. */
async function startTraced(
  t: TestContext,
  data: string,
  through: string[],
): Promise<RunningServer | undefined> {
  try {
    return await startExecutable(t, ['--data', data], { environment: oneFileThread, through })
  } catch (error) {
    assert.match(String(error), /exit null: /, 'it was not killed but ended by itself')
    return undefined
  }
}

/** Stops a server; returns whether it was killed, then or before. */
async function stopTraced(server: RunningServer): Promise<boolean> {
  const end = await server.stop()
  if (end !== 'SIGKILL') assert.equal(end, 0, server.stderr())
  return end === 'SIGKILL'
}

type Logout = 'not sent' | 'without answer' | 'acknowledged'

/** Concurrent changes and reads, a logout, a stop: as much as happens before the kill. */
async function work(t: TestContext, data: string, writer: Writer, through: string[]) {
  let logout: Logout = 'not sent'
  const server = await startTraced(t, data, through)
  if (server === undefined) return { isKilled: true, logout }
  const ask = createClient(server.url, used.bearer)
  let isAlive = true
  for (let i = 0; i < CHANGES && isAlive; i++) isAlive = await changeAndRead(ask, writer)
  if (isAlive) {
    logout = 'without answer'
    const answer = await createClient(server.url, used.cookie)('POST', '/logout').catch(() => undefined)
    if (answer !== undefined) {
      assert.equal(answer.text, 'Success')
      logout = 'acknowledged'
    }
  }
  return { isKilled: await stopTraced(server), logout }
}

async function changeAndRead(ask: Ask, writer: Writer): Promise<boolean> {
  const since = writer.position
  const [answer, list] = await Promise.all([writer.change(ask), ask('GET', LIST).catch(() => undefined)])
  if (list !== undefined) writer.observe(recordsIn(list), since)
  return answer !== undefined && list !== undefined
}

/**
 * Starts twice and checks the writer's records, that the other records are there, and that a logout still holds.
 *
 * @param others How many records are not the writer's.
 */
async function checkRecords(
  t: TestContext,
  data: string,
  writer: Writer,
  { others, logout }: { others: number; logout: Logout },
) {
  const seen: unknown[] = []
  for (const startNext of starts) {
    const server = await startNext(t, data)
    const ask = createClient(server.url, used.bearer)
    const list = await ask('GET', LIST)
    const found = recordsIn(list)
    writer.settle(found)
    const own = found.filter(({ name }) => !name.startsWith('z'))
    assert.equal(Number(list.headers['x-total-count']), others + own.length, 'records of others')
    const { status } = await createClient(server.url, used.cookie)('GET', LIST)
    if (logout === 'not sent') assert.equal(status, 200, 'a session has ended that nobody ended')
    if (logout === 'acknowledged') assert.equal(status, 403, 'an ended session is alive again')
    seen.push({ found, status })
    if (startNext === startInProcess) {
      const body = { name: 'zzz', hostname: 'example.net', port: 22, username: 'u' }
      const [added] = recordsIn(await ask('POST', '/configurations/', { body }))
      assert.ok(
        (added?.id ?? 0) > Math.max(...writer.ids, ...found.map(({ id }) => id)),
        'an id is given twice',
      )
    }
    await server.stop()
  }
  assert.deepEqual(seen[1], seen[0], 'a second start has found something else')
}

function runCommand(data: string, words: readonly string[], through: readonly string[] = []) {
  const input = words[0] === 'user' ? NEW_PASSWORD : ''
  return runExecutable([...words, '--data', data], { input, environment: oneFileThread, through })
}

function secretIn(stdout: string): string | undefined {
  return /^client_secret: (.+)\n/m.exec(stdout)?.[1]
}

interface Tried {
  readonly user: boolean
  readonly client: boolean
}

/** Tries credentials after each of two starts, which must agree. */
async function tryTwice(t: TestContext, data: string, credentials: readonly Credentials[]): Promise<Tried[]> {
  const outcomes: Tried[][] = []
  for (const startNext of starts) {
    const server = await startNext(t, data)
    const tried: Tried[] = []
    for (const some of credentials) tried.push(await tryCredentials(server.url, some))
    outcomes.push(tried)
    await server.stop()
  }
  const [first = [], second] = outcomes
  assert.deepEqual(second, first)
  return first
}

/** Tries the session and the token of the used folder after each of two starts, which must agree. */
async function trySessionsTwice(t: TestContext, data: string): Promise<boolean[]> {
  const outcomes: boolean[][] = []
  for (const startNext of starts) {
    const server = await startNext(t, data)
    const answers = [used.cookie, used.bearer].map((headers) =>
      createClient(server.url, headers)('GET', LIST),
    )
    outcomes.push((await Promise.all(answers)).map(({ status }) => status === 200))
    await server.stop()
  }
  const [first = [], second] = outcomes
  assert.deepEqual(second, first)
  return first
}

async function tryCredentials(url: string, credentials: Credentials): Promise<Tried> {
  const { username, password, client_id, client_secret } = credentials
  const ask = createClient(url)
  const login = await ask('POST', '/login', { body: { username, password } })
  const token = await ask('POST', '/v1/auth/token', { body: { client_id, client_secret } })
  for (const { status, text } of [login, token]) assert.ok([200, 401].includes(status), text)
  return { user: login.status === 200, client: token.status === 200 }
}

/** The next command removes the temporary files of a killed command. */
async function checkSwept(data: string) {
  const { code, stderr } = await runHere(['user', 'add', 'later', '--data', data], { input: NEW_PASSWORD })
  assert.equal(code, 0, stderr)
  await checkEntries(data, nothing)
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
