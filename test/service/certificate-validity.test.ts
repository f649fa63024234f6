import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { describe, it } from 'node:test'
import { warnOfDates } from '../../src/service/certificate-validity.ts'
import { makeCertificate } from '../support/certificate.ts'
import { createMemoryLog } from '../support/memory-log.ts'

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
