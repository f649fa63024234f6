import '../support/node-version.ts'
import assert from 'node:assert/strict'
import '../support/light-argon2.ts'
import { X509Certificate } from 'node:crypto'
import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { HEAP_SHARE, recordMemoryMax } from '../../src/budget.ts'
import { MEMORY_MIB_MIN } from '../../src/limits.ts'
import {
  ADDRESS_SPACE_MIB_MIN,
  AddressSpaceError,
  CLOCK_BEHIND_MS,
  checkAddressSpace,
  warnOfClock,
  warnOfDates,
  warnOfPlainHttp,
  warnOfShortMemory,
} from '../../src/service/start-checks.ts'
import { makeCertificate } from '../support/certificate.ts'
import { holdClock } from '../support/held-clock.ts'
import { createMemoryLog } from '../support/memory-log.ts'
import { start } from '../support/service.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const limitsWith = (bytes: string) =>
  `Limit                     Soft Limit           Hard Limit           Units     \nMax file size             unlimited            unlimited            bytes     \nMax address space         ${bytes.padEnd(20)} unlimited            bytes     \n`

describe('checkAddressSpace', () => {
  it('takes no limit, a high one, and a system that shows none', () => {
    for (const limits of [limitsWith('unlimited'), limitsWith(String(ADDRESS_SPACE_MIB_MIN * 1024 ** 2)), ''])
      checkAddressSpace(limits)
    checkAddressSpace()
  })

  it('refuses a low limit, and says what to do', () => {
    assert.throws(
      () => checkAddressSpace(limitsWith(String(2000 * 1024 ** 2))),
      (error) =>
        error instanceof AddressSpaceError && /of 2000 MiB: .*ulimit -v, LimitAS=/.test(error.message),
    )
  })
})

/** The memory of JavaScript, with what Node adds to its share. */
const heapOf = (memory: number) => memory * HEAP_SHARE + 3 * 8 * 1024 * 1024
const LEAST_BYTES = MEMORY_MIB_MIN * 1024 * 1024

describe('a server with less memory than connbook needs', () => {
  it('warns, and says how much is needed', () => {
    const log = createMemoryLog()
    warnOfShortMemory(LEAST_BYTES - 1, 0, log)
    const { level, event, memory_mib, needed_mib, remedy } = JSON.parse(log.lines[0] ?? '')
    assert.deepEqual([level, event], ['warn', 'memory_short'])
    assert.deepEqual([memory_mib, needed_mib], [MEMORY_MIB_MIN - 1, MEMORY_MIB_MIN])
    assert.match(remedy, /MemoryMax=/)
  })
})

describe('a server whose records take all the memory that they may', () => {
  it('warns, and says how much is needed to add more', () => {
    const log = createMemoryLog()
    const mebibyte = 1024 * 1024
    const records = recordMemoryMax(400 * mebibyte)
    warnOfShortMemory(400 * mebibyte, records, log, records)
    const { memory_mib, needed_mib } = JSON.parse(log.lines[0] ?? '')
    assert.equal(memory_mib, 400)
    const needed = needed_mib * mebibyte
    // No less: with this much, there is just more than the records take.
    assert.ok(recordMemoryMax(needed + mebibyte, heapOf(needed + mebibyte)) > records)
    assert.ok(recordMemoryMax(needed - mebibyte, heapOf(needed - mebibyte)) < records)
  })
})

describe('a server with enough memory', () => {
  it('does not warn', () => {
    const log = createMemoryLog()
    warnOfShortMemory(LEAST_BYTES, 0, log)
    assert.deepEqual(log.events, [])
  })
})

describe('plain HTTP', () => {
  const isWarnedOf: Record<string, boolean> = {
    '127.0.0.1': false,
    '127.255.255.254': false,
    '::1': false,
    '::ffff:127.0.0.1': false,
    '::': true,
    '0.0.0.0': true,
    '126.255.255.255': true,
    '128.0.0.1': true,
    '10.0.0.1': true,
    '::2': true,
    '::ffff:10.0.0.1': true,
    'fe80::1': true,
  }
  for (const [address, isWarned] of Object.entries(isWarnedOf)) {
    it(`on ${address} causes ${isWarned ? 'a' : 'no'} warning`, () => {
      const log = createMemoryLog()
      warnOfPlainHttp(address, log)
      assert.deepEqual(log.events, isWarned ? ['plain_http'] : [])
    })
  }

  it('causes a warning with advice', () => {
    const log = createMemoryLog()
    warnOfPlainHttp('::', log)
    const { level, address, reason, remedy } = JSON.parse(log.lines[0] ?? '')
    assert.deepEqual([level, address], ['warn', '::'])
    assert.match(reason, /passwords and tokens/)
    for (const flag of ['--tls-cert', '--tls-key', '--host 127.0.0.1']) assert.ok(remedy.includes(flag), flag)
  })
})

const DAY_MS = 24 * 60 * 60 * 1000

describe('the dates of a certificate', async () => {
  const rows: [when: string, moment: (from: number, to: number) => number, events: string[]][] = [
    ['a second before it begins', (from) => from - 1000, ['certificate_not_yet_valid']],
    ['when it begins', (from) => from, []],
    ['14 days before its end', (_, to) => to - 14 * DAY_MS, []],
    ['just under 14 days before its end', (_, to) => to - 14 * DAY_MS + 1, ['certificate_expires']],
    ['at its last second', (_, to) => to, ['certificate_expires']],
    ['after its end', (_, to) => to + 1, ['certificate_expired']],
  ]
  for (const [when, moment, events] of rows) {
    it(`cause ${events.join() || 'no warning'} ${when}`, async (t) => {
      const certificate = new X509Certificate((await makeCertificate(t, { days: 30 })).cert)
      const { validFromDate, validToDate } = certificate
      const log = createMemoryLog()
      warnOfDates(certificate, log, moment(validFromDate.getTime(), validToDate.getTime()))
      assert.deepEqual(log.events, events)
      const date = events.includes('certificate_not_yet_valid') ? validFromDate : validToDate
      for (const line of log.lines) {
        assert.match(line, /"level":"warn"/)
        assert.ok(line.includes(`"${date.toISOString()}"`), line)
        assert.match(line, /"remedy":"[^"]+"/)
      }
    })
  }

  it('are logged with the number of whole days left', async (t) => {
    const certificate = new X509Certificate((await makeCertificate(t, { days: 30 })).cert)
    const log = createMemoryLog()
    warnOfDates(certificate, log, certificate.validToDate.getTime() - 3.5 * DAY_MS)
    assert.match(log.lines[0] ?? '', /"days":3,/)
  })
})

const NOW = Date.UTC(2026, 0, 1)

const YEAR_MS = 366 * 24 * 60 * 60 * 1000

interface Line {
  readonly level: string
  readonly event: string
  readonly latest: string
  readonly reason: string
  readonly remedy: string
}

function warningsIn(lines: readonly string[]): Line[] {
  return lines.map((line) => JSON.parse(line) as Line).filter(({ event }) => event === 'clock_behind')
}

describe('a clock that is behind at a start', () => {
  it('causes a warning from a minute on', () => {
    const rows: [session: number, trail: number | undefined, reason: RegExp | undefined][] = [
      [NOW, undefined, undefined],
      [NOW + CLOCK_BEHIND_MS - 1, NOW + CLOCK_BEHIND_MS - 1, undefined],
      [NOW + CLOCK_BEHIND_MS, undefined, /set back/],
      [NOW, NOW + CLOCK_BEHIND_MS, /newest change/],
    ]
    for (const [session, trail, reason] of rows) {
      const log = createMemoryLog()
      warnOfClock({ session, trail }, log, NOW)
      const [warning] = warningsIn(log.lines)
      assert.equal(warning !== undefined, reason !== undefined)
      if (warning === undefined || reason === undefined) continue
      assert.deepEqual([warning.level, warning.latest], ['warn', '2026-01-01T00:01:00.000Z'])
      assert.match(warning.reason, reason)
      assert.notEqual(warning.remedy, '')
    }
  })

  it('is seen by the time that the last run has kept', async (t) => {
    const folder = await temporaryFolder(t)
    await (await start(t, { folder, clock: holdClock(Date.now() + YEAR_MS) })).stop()
    const [warning] = warningsIn((await start(t, { folder })).log.lines)
    assert.match(warning?.reason ?? '', /set back/)
  })

  it('is seen by the newest line of the audit trail, after others and half a line', async (t) => {
    const folder = await temporaryFolder(t)
    const first = await start(t, { folder })
    await first.stop()
    assert.deepEqual(warningsIn(first.log.lines), [])
    const latest = new Date(Date.now() + YEAR_MS).toISOString()
    const line = JSON.stringify({ time: latest, event: 'configuration_added', filler: 'x'.repeat(3000) })
    await appendFile(join(folder, 'audit.jsonl'), `${`${line}\n`.repeat(30)}{"time":"2`)
    const [warning] = warningsIn((await start(t, { folder })).log.lines)
    assert.deepEqual([warning?.latest, /newest change/.test(warning?.reason ?? '')], [latest, true])
  })
})
