import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { systemCode } from '../../../src/errors.ts'
import { startExecutable } from '../../support/executable.ts'
import { type Ask, type Headers, recordsIn } from '../../support/http-client.ts'
import { createRandom, type Random } from '../../support/random.ts'
import type { DiskImage } from '../volatile/volatile-disk.ts'
import { type Connection, openConnection, withHeaders } from './connection.ts'
import { readImageOf } from './image.ts'
import type { RecordedFolder } from './recorded-folder.ts'
import { describeOthers, RecordedWriter } from './recorded-writer.ts'
import { prepareTrace } from './trace.ts'
import type { TraceEvent } from './trace-parser.ts'

const WRITERS = 4

/** The effect of one request of the administrator, once it was answered. */
export interface CredentialStep {
  readonly issued?: Headers
  readonly ended?: Headers
}

/** What a reader was shown, and how many changes each writer had acknowledged when it asked. */
export interface Read {
  readonly since: readonly number[]
  /** The records of each writer, as in `RecordedWriter.states`. */
  readonly shown: readonly string[]
  readonly highestId: number
}

/**
 * A run of the executable: its system calls, and the requests and answers of its clients.
 *
 * Each client has one connection, in this order: administrator, writers, reader. The first request on each connection
 * has no account, and its answer is ignored.
 */
export interface Recording {
  /** Holds the data folder and everything that the calls changed. */
  readonly root: string
  readonly data: string
  /** The root before the run. */
  readonly before: DiskImage
  readonly events: readonly TraceEvent[]
  /** The status of each answer, by connection. */
  readonly statuses: readonly (readonly number[])[]
  /** What the initial credentials file says. */
  readonly credentials: unknown
  readonly steps: readonly CredentialStep[]
  readonly writers: readonly RecordedWriter[]
  readonly reads: readonly Read[]
  /** The records that no writer changes, as `describeOthers` returns them. */
  readonly others: string
}

/**
 * Starts the executable under strace, lets clients work with it at once, and stops it.
 *
 * @param hasReader Whether a client reads the list repeatedly.
 * @param through A command that runs the executable, below strace.
 */
export async function record(
  t: TestContext,
  {
    folder,
    random,
    changesEach,
    untilEvent,
    hasReader = true,
    through = [],
  }: {
    readonly folder: RecordedFolder
    readonly random: Random
    readonly changesEach: number
    /** Continues until the log holds this. */
    readonly untilEvent?: string
    readonly hasReader?: boolean
    readonly through?: readonly string[]
  },
): Promise<Recording> {
  const { root, data } = folder
  const before = await readImageOf(root)
  const trace = await prepareTrace(t)
  const server = await startExecutable(t, ['--data', data], {
    through: [...trace.command, ...through],
    environment: trace.environment,
  })
  const pid = Number(/"pid":(\d+)/.exec(server.stderr())?.[1])
  t.after(() => killIfRunning(pid))
  const credentials: unknown = JSON.parse(await readFile(join(data, 'initial-credentials.json'), 'utf8'))

  // One after the other, so that the trace has the same order.
  const connections: Connection[] = []
  for (let i = 0; i < WRITERS + 2; i++) connections.push(await openConnection(server.url))
  const [administrator, ...clients] = connections.map(({ ask }) => ask)
  assert.ok(administrator !== undefined)

  const steps: CredentialStep[] = []
  const issued = async (pending: Promise<Headers>) => {
    const headers = await pending
    steps.push({ issued: headers })
    return headers
  }
  const end = async (headers: Headers) => {
    const { status } = await withHeaders(administrator, headers)('POST', '/logout')
    assert.equal(status, 200)
    steps.push({ ended: headers })
  }
  const bearer = await issued(getTokenOn(administrator, credentials))
  const endedBearer = await issued(getTokenOn(administrator, credentials))
  await issued(logInOn(administrator, credentials))

  const asks = clients.map((ask) => withHeaders(ask, bearer))
  const readerAsk = asks.pop() ?? assert.fail('there is one')
  const writers = asks.map((ask, i) => new RecordedWriter(i, ask, createRandom(random.seed + i)))
  let writing = writers.length
  let nextChange = Promise.withResolvers<void>()
  const write = async (writer: RecordedWriter) => {
    const isEnough = () => untilEvent === undefined || server.stderr().includes(`"event":"${untilEvent}"`)
    for (let left = changesEach; left > 0; left -= isEnough() ? 1 : 0) {
      await writer.change()
      nextChange.resolve()
      nextChange = Promise.withResolvers()
    }
    writing -= 1
    nextChange.resolve()
  }
  const reads: Read[] = []
  const read = async () => {
    while (hasReader && writing > 0) {
      const since = writers.map((writer) => writer.acknowledged)
      const records = recordsIn(await readerAsk('GET', '/configurations/'))
      const highestId = records.at(-1)?.id ?? 0
      reads.push({ since, shown: writers.map((writer) => writer.stateIn(records)), highestId })
      // Without a change there is nothing new to show.
      if (writing > 0) await nextChange.promise
    }
  }
  const logOut = async () => {
    const endedCookie = await issued(logInOn(administrator, credentials))
    await end(endedCookie)
    await end(endedBearer)
  }
  await Promise.all([...writers.map(write), read(), logOut()])
  for (const connection of connections) connection.close()

  const exited = once(server.process, 'exit')
  process.kill(pid, 'SIGTERM')
  assert.equal((await exited)[0], 0, server.stderr())
  const events = await trace.read()
  const statuses = connections.map(({ answers }) => answers.map(({ status }) => status))
  return {
    root,
    data,
    before,
    events,
    statuses,
    credentials,
    steps,
    writers,
    reads,
    others: describeOthers(folder.records),
  }
}

async function getTokenOn(ask: Ask, credentials: unknown): Promise<Headers> {
  const answer = await ask('POST', '/v1/auth/token', { body: credentials })
  return { Authorization: `Bearer ${answer.json<{ access_token: string }>().access_token}` }
}

async function logInOn(ask: Ask, credentials: unknown): Promise<Headers> {
  const answer = await ask('POST', '/login', { body: credentials })
  return { Cookie: answer.headers['set-cookie']?.[0]?.split(';')[0] ?? assert.fail(answer.text) }
}

/** The server survives if only strace is killed. */
function killIfRunning(pid: number) {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if (systemCode(error) !== 'ESRCH') throw error
  }
}
