import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { sshCommandTo } from '../../src/exchange/ssh-command.ts'
import { holdFor } from '../support/properties/hold-property.ts'
import { bare } from './records.ts'
import { sshRecords } from './ssh-records.ts'

const nobody = () => undefined

describe('sshCommandTo', () => {
  it('passes values only as arguments of options, and a host that is not an option', (t) => {
    holdFor(t, sshRecords, (record) => {
      const command = sshCommandTo(record, nobody)
      if (typeof command === 'string') return assert.match(command, /^(?:has a|goes through) /)
      const { args } = command
      const host = args.at(-1) ?? ''
      assert.match(host, /^[^-]/)
      assert.equal(host, bare(record.hostname))
      const pairs = args.slice(0, -1)
      for (let at = 0; at < pairs.length; at += 2)
        assert.ok(['-p', '-l', '-J', '-i'].includes(pairs[at] ?? ''))
      assert.equal(pairs.length % 2, 0)
      for (const each of args) assert.doesNotMatch(each, /\p{Cc}/u)
    })
  })
})
