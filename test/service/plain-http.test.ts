import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { warnOfPlainHttp } from '../../src/service/plain-http.ts'
import { createMemoryLog } from '../support/memory-log.ts'

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
