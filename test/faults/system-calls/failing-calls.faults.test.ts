import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { after, describe, it, type TestContext } from 'node:test'
import { missing } from '../../support/debian.ts'
import { eventually } from '../../support/eventually.ts'
import { type RunningServer, startExecutable } from '../../support/executable.ts'
import { type Ask, createClient, recordsIn } from '../../support/http-client.ts'
import { createRandom } from '../../support/random.ts'
import { attachStrace, type Injection, oneFileThread } from '../../support/strace.ts'
import { Writer } from '../writer.ts'
import { secondSyncs } from './second-syncs.ts'
import { useFolder, withCopy } from './used-folder.ts'

/** A disk fault, and the status of the change that meets it. */
interface Fault {
  readonly status: 503 | 507
  /** Each in strace's form: calls, fault, which of the calls. */
  readonly injections: readonly (readonly [calls: string, error: string, when?: string])[]
  /** Whether the store recovers at once each time, so that `/readyz` shows nothing. */
  readonly isReadyBetween?: boolean
}

const CHANGES_BEFORE = 4
const CHANGES_DURING = 5
const CHANGES_AFTER = 4

const once: readonly Fault[] = [
  { status: 503, injections: [['pwrite64', 'EIO', '1']] },
  { status: 507, injections: [['pwrite64', 'ENOSPC', '1']] },
  { status: 503, injections: [['fdatasync', 'EIO', '1']] },
  { status: 503, injections: [['fdatasync', 'ENOSPC', '1']] },
  { status: 503, injections: failedSyncAnd('ftruncate', 'EIO', '1') },
  { status: 503, injections: [...failingFirst('pwrite64', 'ENOSPC'), ['ftruncate', 'EIO', '1']] },
  // The remaining disk work of a recovery: a snapshot, then a new journal.
  { status: 503, injections: failedSyncAnd('openat', 'EIO', '1') },
  { status: 503, injections: failedSyncAnd('openat', 'ENOSPC', '3') },
  { status: 503, injections: failedSyncAnd('pwrite64', 'EIO', '2') },
  ...['1', '2', '3', '4'].map((when): Fault => {
    return { status: 503, injections: failedSyncAnd('fsync', 'EIO', when) }
  }),
  { status: 503, injections: failedSyncAnd('rename', 'EIO', '1') },
  { status: 503, injections: failedSyncAnd('rename', 'EIO', '2') },
]

const always: readonly Fault[] = [
  { status: 503, injections: [['fdatasync', 'EIO']], isReadyBetween: true },
  { status: 503, injections: [['fdatasync,fsync', 'EIO']] },
  { status: 503, injections: [['pwrite64', 'EIO']] },
  { status: 507, injections: [['pwrite64', 'ENOSPC']], isReadyBetween: true },
  { status: 503, injections: [...failingFirst('pwrite64', 'ENOSPC'), ['ftruncate,fsync', 'EIO']] },
  { status: 503, injections: [['fdatasync,fsync,ftruncate', 'EIO']] },
  { status: 503, injections: [['fdatasync,rename', 'EIO']] },
  { status: 503, injections: [['fdatasync,openat', 'EIO']] },
]

/** Calls that a signal interrupts, if nothing else fails and during recovery from a failed disk. */
const interrupted: Fault['injections'] = [
  ['pwrite64', 'EINTR', '1'],
  ['fdatasync', 'EINTR', '1'],
]
const interruptedOnTheWayBack: Fault['injections'] = [
  ['fdatasync', 'EIO', '1'],
  ['openat,fsync,rename', 'EINTR', '1'],
  ['pwrite64', 'EINTR', '2'],
]

const used = await useFolder({ after })

describe('a system call that fails', { skip: missing('strace') }, () => {
  for (const fault of once) {
    it(`once (${nameOf(fault)}) fails the change that met it; the next succeed without a restart`, async (t) => {
      await withServer(t, async ({ attach, ask, writer, change, settle }) => {
        const tracer = await attach(fault.injections)
        await refused(ask, writer, fault.status)
        await eventually('a change is taken again', async () => (await writer.change(ask))?.status !== 503)
        for (let i = 0; i < CHANGES_AFTER; i++) await change()
        assert.equal((await ask('GET', '/readyz')).status, 200)
        assert.deepEqual(secondSyncs(await tracer.calls()), [])
        assert.equal((await tracer.calls()).filter(isInjected).length, fault.injections.length)
        await settle()
      })
      await withServer(t, async ({ attach, ask, writer, settle }) => {
        await attach(fault.injections)
        await refused(ask, writer, fault.status)
        await settle()
      })
    })
  }

  for (const fault of always) {
    it(`every time (${nameOf(fault)}) fails changes, but not reads, until it succeeds again`, async (t) => {
      const { isReadyBetween = false, injections, status } = fault
      await withServer(t, async ({ attach, ask, writer, change, settle }) => {
        const tracer = await attach(injections)
        await refused(ask, writer, status)
        if (!isReadyBetween) assert.equal((await ask('GET', '/readyz')).status, 503)
        await refusedOthers(ask, status)
        if (!isReadyBetween) assert.equal((await ask('GET', '/readyz')).status, 503)
        await tracer.detach()
        assert.deepEqual(secondSyncs(await tracer.calls()), [])
        await eventually('ready again', async () => (await ask('GET', '/readyz')).status === 200)
        for (let i = 0; i < CHANGES_AFTER; i++) await change()
        await settle()
      })
      await withServer(t, async ({ attach, ask, writer, settle }) => {
        await attach(injections)
        await refused(ask, writer, status)
        await refusedOthers(ask, status)
        await settle()
      })
    })
  }

  it('because of a signal is repeated, without an error in answers or log', async (t) => {
    await withServer(t, async ({ attach, change, settle, stderr }) => {
      const tracer = await attach(interrupted)
      for (let i = 0; i < CHANGES_AFTER; i++) await change()
      assert.equal((await tracer.calls()).filter(isInjected).length, interrupted.length)
      assert.doesNotMatch(stderr(), /"level":"(error|warn)"/)
      await settle()
    })
  })

  it('because of a signal is repeated during recovery, too', async (t) => {
    await withServer(t, async ({ attach, ask, writer, settle, stderr }) => {
      const tracer = await attach(interruptedOnTheWayBack)
      await refused(ask, writer, 503)
      await eventually('a change is taken again', async () => (await writer.change(ask))?.status !== 503)
      const calls = interruptedOnTheWayBack.flatMap(([names]) => names.split(','))
      assert.equal((await tracer.calls()).filter(isInjected).length, calls.length)
      assert.doesNotMatch(stderr(), /storage_unavailable/)
      await settle()
    })
  })

  it('makes a logout fail instead of losing it', async (t) => {
    await withServer(t, async ({ attach, url, settle }) => {
      const ask = createClient(url, used.cookie)
      const tracer = await attach([['fdatasync,fsync', 'EIO']])
      const answer = await ask('POST', '/logout')
      assert.deepEqual([answer.status, answer.headers['content-type']], [503, 'application/problem+json'])
      assert.equal((await ask('GET', '/readyz')).status, 503)
      assert.equal((await ask('GET', '/configurations/')).status, 200)
      await tracer.detach()
      assert.deepEqual(secondSyncs(await tracer.calls()), [])
      await eventually('the logout is taken', async () => (await ask('POST', '/logout')).text === 'Success')
      assert.equal((await ask('GET', '/configurations/')).status, 403)
      const next = await settle()
      assert.equal((await createClient(next.url, used.cookie)('GET', '/configurations/')).status, 403)
    })
  })
})

function failedSyncAnd(calls: string, error: string, when: string): Fault['injections'] {
  return [...failingFirst('fdatasync', 'EIO'), [calls, error, when]]
}

function failingFirst(calls: string, error: string): Fault['injections'] {
  return [[calls, error, '1']]
}

function nameOf({ injections }: Pick<Fault, 'injections'>): string {
  return injections
    .map(([calls, error, when]) => `${calls} ${error}${when === undefined ? '' : ` at ${when}`}`)
    .join(', ')
}

function isInjected(line: string): boolean {
  return line.endsWith('(INJECTED)')
}

/** A change that meets the fault: it is refused with this status, and never shows. */
async function refused(ask: Ask, writer: Writer, status: number) {
  const before = recordsIn(await ask('GET', '/configurations/'))
  const answer = await writer.change(ask)
  assert.ok(answer !== undefined, 'there was no answer')
  assert.equal(answer.status, status, answer.text)
  assert.equal(answer.headers['content-type'], 'application/problem+json')
  if (status === 503) assert.ok(Number(answer.headers['retry-after']) > 0)
  assert.deepEqual(recordsIn(await ask('GET', '/configurations/')), before)
}

/** More changes while the disk still fails. */
async function refusedOthers(ask: Ask, status: number) {
  for (let i = 0; i < CHANGES_DURING; i++) {
    const body = { name: `refused ${i}`, hostname: 'example.net', port: 22, username: 'u' }
    const answer = await ask('POST', '/configurations/', { body })
    assert.equal(answer.status, status, answer.text)
  }
  assert.equal((await ask('GET', '/configurations/')).status, 200)
}

/** A server on a copy of a folder. */
interface Subject {
  readonly url: string
  readonly ask: Ask
  readonly writer: Writer
  readonly stderr: () => string
  /** Sends a change that must succeed. */
  change(): Promise<void>
  attach(injections: Fault['injections']): ReturnType<typeof attachStrace>
  /** Kills the server, starts another on its folder, and checks the records against the writer's. */
  settle(): Promise<RunningServer>
}

async function withServer(t: TestContext, action: (subject: Subject) => Promise<void>) {
  await withCopy(t, used, async (data) => {
    const random = createRandom()
    t.diagnostic(`seed ${random.seed}`)
    const writer = new Writer('0', random)
    const { url, process, stderr, stop } = await startExecutable(t, ['--data', data], {
      environment: oneFileThread,
    })
    const ask = createClient(url, used.bearer)
    const change = async () => {
      const answer = await writer.change(ask)
      assert.ok(answer !== undefined, 'there was no answer')
      assert.ok(answer.status < 300, answer.text)
    }
    let next: RunningServer | undefined
    for (let i = 0; i < CHANGES_BEFORE; i++) await change()
    await action({
      url,
      ask,
      writer,
      stderr,
      change,
      attach: (injections) =>
        attachStrace(t, process.pid, {
          injections: injections.map(toInjection),
          folder: data,
          seen: ['close'],
        }),
      async settle() {
        assert.equal(await stop('SIGKILL'), 'SIGKILL')
        next = await startExecutable(t, ['--data', data])
        const found = recordsIn(await createClient(next.url, used.bearer)('GET', '/configurations/'))
        writer.settle(found)
        assert.deepEqual(
          found.filter(({ name }) => name.startsWith('refused')),
          [],
        )
        return next
      },
    })
    await next?.stop()
  })
}

function toInjection([calls, error, when]: Fault['injections'][number]): Injection {
  return { calls, fault: `error=${error}`, ...(when === undefined ? {} : { when }) }
}
