import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { CLOCK_BEHIND_MS, warnOfClock } from '../../src/service/clock-warning.ts'
import { holdClock } from '../support/held-clock.ts'
import { createMemoryLog } from '../support/memory-log.ts'
import { start } from '../support/service.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

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
