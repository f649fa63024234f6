import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { appendFile, readdir, readFile, writeFile } from 'node:fs/promises'
import { describe, it, type TestContext } from 'node:test'
import { openRevocations, REVOCATIONS_BYTES_MIN } from '../../src/auth/folder-revocations.ts'
import { checkRevocations } from '../../src/auth/revocations-file.ts'
import { DamagedFileError, StorageFullError, StorageUnavailableError } from '../../src/errors.ts'
import { dataFiles } from '../../src/files/data-folder.ts'
import { encodeJournalStart } from '../../src/journal/journal-file.ts'
import { eventually } from '../support/eventually.ts'
import { createFailingFiles, failOn, holdUp } from '../support/failing-files.ts'
import { holdClock } from '../support/held-clock.ts'
import { createMemoryLog } from '../support/memory-log.ts'
import { start } from '../support/service.ts'
import { openedFolder } from '../support/temporary-folder.ts'

const HOUR_S = 3600

async function setUp(t: TestContext) {
  const files = createFailingFiles()
  const folder = { ...(await openedFolder(t)), files }
  const clock = holdClock()
  const log = createMemoryLog()
  const path = folder.file(dataFiles.revocations)
  return {
    clock,
    files,
    folder,
    log,
    path,
    open: (mustExist = false) => openRevocations(folder, { mustExist, log, makeClock: clock.make }),
    read: () => readFile(path, 'utf8'),
    /** The time this many seconds from now, in seconds since 1970. */
    inSeconds: (seconds: number) => Math.floor(clock.wall / 1000) + seconds,
  }
}

describe('Revocations', () => {
  it('knows what has ended, after a restart too', async (t) => {
    const { open, inSeconds } = await setUp(t)
    const first = await open()
    assert.equal(first.has('a'), false)
    await first.add('a', inSeconds(HOUR_S))
    assert.equal(first.has('a'), true)
    await first.close()
    for (let restarts = 0; restarts < 2; restarts += 1) {
      const again = await open(true)
      assert.deepEqual([again.has('a'), again.has('b')], [true, false])
      await again.close()
    }
  })

  it('ends a credential only once that is on disk', async (t) => {
    const { files, open, read, inSeconds } = await setUp(t)
    const revocations = await open()
    const { begun, release } = holdUp(files, 'datasync')
    let isAnswered = false
    const added = revocations.add('a', inSeconds(HOUR_S)).then(() => (isAnswered = true))
    await begun
    assert.deepEqual([isAnswered, revocations.has('a')], [false, false])
    release()
    await added
    assert.equal(revocations.has('a'), true)
    assert.match(await read(), /"jti":"a"/)
    await revocations.close()
  })

  it('drops expired credentials, which stay expired when the clock is set back', async (t) => {
    const { clock, open, read, inSeconds } = await setUp(t)
    const first = await open()
    await first.add('short', inSeconds(60))
    await first.add('long', inSeconds(HOUR_S))
    await first.close()
    const expiry = inSeconds(60) * 1000

    clock.advance(60_000)
    const second = await open()
    t.after(() => second.close())
    await eventually('the file is rewritten', async () => !(await read()).includes('short'))
    assert.deepEqual([second.has('short'), second.has('long')], [false, true])

    // As after a crash: `second` was not closed.
    for (const wall of [clock.wall - HOUR_S * 1000, 0]) {
      clock.wall = wall
      const third = await open()
      assert.ok(third.clock.now() >= expiry)
      await third.close()
    }
  })

  it('remembers the time at which it was closed', async (t) => {
    const { clock, open, read } = await setUp(t)
    const first = await open()
    await eventually('the file is rewritten', async () => (await read()).includes('passed'))
    clock.advance(HOUR_S * 1000)
    const closedAt = first.clock.now()
    await first.close()
    clock.wall = 0
    const second = await open()
    assert.equal(second.clock.now(), closedAt)
    await second.close()
  })

  it('remembers the time at which it refused an expired credential, and writes it only once', async (t) => {
    const { clock, open, read, inSeconds } = await setUp(t)
    const exp = inSeconds(60)
    const first = await open()
    t.after(() => first.close())
    await eventually('the file is rewritten', async () => (await read()).includes('passed'))
    clock.advance(HOUR_S * 1000)
    const refusedAt = first.clock.now()
    for (let again = 0; again < 3; again++) first.rememberExpired(exp)
    await first.add('later', inSeconds(HOUR_S))
    const text = await read()
    assert.equal(text.split(`{"passed":${refusedAt}}`).length, 2, text)

    // As after a crash: `first` was not closed.
    clock.wall = 0
    const second = await open()
    t.after(() => second.close())
    assert.ok(second.clock.now() >= exp * 1000)
  })

  it('cuts a torn tail off, keeps it aside and loses nothing', async (t) => {
    const { folder, log, open, path, inSeconds } = await setUp(t)
    const first = await open()
    await first.add('a', inSeconds(HOUR_S))
    await first.close()
    await appendFile(path, '0badc0de 41 7 [{"jti":"b')
    const second = await open(true)
    assert.deepEqual([second.has('a'), second.has('b')], [true, false])
    await second.close()
    assert.ok(log.events.includes('torn_tail_set_aside'))
    assert.ok((await readdir(folder.path)).some((name) => name.startsWith('revocations.torn-')))
  })

  it('refuses a line with an unknown member as that of a newer connbook, and changes nothing', async (t) => {
    const { folder, path } = await setUp(t)
    const line = { jti: 'a', exp: 1, account: 'x' }
    await writeFile(path, encodeJournalStart({ store: 's', after: 0, version: 1 }, [line]).bytes)
    const before = await readFile(path)
    await assert.rejects(checkRevocations(folder, true), (error) => {
      assert.match(
        String(error),
        /newer connbook: the member "account" of an ended credential .* at byte \d+; use the/,
      )
      assert.doesNotMatch(String(error), /truncate|mv |echo/)
      return true
    })
    assert.deepEqual(await readFile(path), before)
  })

  it('reports a missing file as damage where one is required, and creates none', async (t) => {
    const { open, read } = await setUp(t)
    await assert.rejects(open(true), DamagedFileError)
    await assert.rejects(read(), { code: 'ENOENT' })
  })
})

describe('the compaction of revocations', () => {
  it('loses no revocation that is added meanwhile', async (t) => {
    const { files, open, inSeconds } = await setUp(t)
    const first = await open()
    await first.add('before', inSeconds(HOUR_S))
    await first.close()

    const rewriting = holdUp(files, 'rename')
    const second = await open()
    await rewriting.begun
    const names = Array.from({ length: 2500 }, (_, i) => `meanwhile-${i}`)
    const added = names.map((jti) => second.add(jti, inSeconds(HOUR_S)))
    rewriting.release()
    await Promise.all(added)
    await second.close()

    const third = await open()
    for (const jti of ['before', ...names]) assert.ok(third.has(jti), jti)
    await third.close()
  })

  it('begins when the file has grown, and shrinks it', async (t) => {
    const { clock, open, read, inSeconds } = await setUp(t)
    const revocations = await open()
    const long = 'x'.repeat(1000)
    const addMany = (prefix: string) => {
      const count = Math.ceil(REVOCATIONS_BYTES_MIN / long.length)
      return Promise.all(
        Array.from({ length: count }, (_, i) => revocations.add(prefix + i + long, inSeconds(60))),
      )
    }
    await addMany('old')
    clock.advance(61_000)
    await addMany('new')
    await addMany('newer')
    await revocations.close()
    assert.doesNotMatch(await read(), /old/)
    assert.deepEqual([revocations.has(`old0${long}`), revocations.has(`new0${long}`)], [false, true])
  })

  it('may fail, and the old file stays in use', async (t) => {
    const { files, log, open, inSeconds } = await setUp(t)
    const first = await open()
    await first.add('a', inSeconds(HOUR_S))
    await first.close()
    failOn(files, 'open', '.tmp', 'ENOSPC')
    const second = await open()
    await second.add('b', inSeconds(HOUR_S))
    await second.close()
    assert.ok(log.events.includes('revocations_not_compacted'))
    files.before = () => {}
    const third = await open()
    assert.deepEqual([third.has('a'), third.has('b')], [true, true])
    await third.close()
  })
})

describe('revocations on a disk that fails', () => {
  const failures = [
    { operation: 'write', code: 'ENOSPC', error: StorageFullError, status: 507 },
    { operation: 'write', code: 'EIO', error: StorageUnavailableError, status: 503 },
    { operation: 'datasync', code: 'EIO', error: StorageUnavailableError, status: 503 },
  ] as const
  for (const { operation, code, error, status } of failures) {
    it(`end nothing when ${operation} fails with ${code}, and go on when it works again`, async (t) => {
      const { files, open, inSeconds } = await setUp(t)
      const revocations = await open()
      failOn(files, operation, dataFiles.revocations, code, Number.POSITIVE_INFINITY)
      await assert.rejects(revocations.add('a', inSeconds(HOUR_S)), error)
      assert.equal(revocations.has('a'), false)
      files.before = () => {}
      await eventually('the disk works', () => revocations.isWritable)
      await revocations.add('b', inSeconds(HOUR_S))
      await revocations.close()
      const again = await open()
      assert.deepEqual([again.has('a'), again.has('b')], [false, true])
      await again.close()
    })

    it(`answer a logout with ${status} when ${operation} fails with ${code}, and the session goes on`, async (t) => {
      const files = createFailingFiles()
      const service = await start(t, { files })
      const headers = { Cookie: await service.cookie() }
      failOn(files, operation, dataFiles.revocations, code, Number.POSITIVE_INFINITY)
      const answer = await service.call('/logout', { method: 'POST', headers })
      assert.equal(answer.status, status)
      assert.equal(answer.headers.get('set-cookie'), null)
      assert.equal((await service.call('/configurations/', { headers })).status, 200)
    })
  }
})
