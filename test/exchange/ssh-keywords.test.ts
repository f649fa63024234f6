import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { sshLabels } from '../../src/exchange/ssh-labels.ts'

const faultOf = (key: string, value: string) => sshLabels.find((label) => label.key === key)?.fault(value)

describe('a label with a keyword of ssh', () => {
  const times = ['0', '10', '1h30m', '2147483647', '3550w', 'none']
  // ssh ends with the whole file at a time that no int can hold, and knows `none` in small letters alone.
  const noTimes = ['', '2147483648', '9999999w', '9999999999', '3551w', 'NONE', '1M', '-1', '1.5']
  for (const key of ['ssh.connecttimeout', 'ssh.serveraliveinterval'])
    it(`holds a time that ssh takes: ${key}`, () => {
      for (const value of times) assert.equal(faultOf(key, value), undefined, value)
      for (const value of noTimes) assert.match(faultOf(key, value) ?? '', /^is not a time/, value)
    })

  it('holds a count from 1 of attempts, and from 0 of messages', () => {
    assert.equal(faultOf('ssh.connectionattempts', '1'), undefined)
    assert.match(faultOf('ssh.connectionattempts', '0') ?? '', /^is not a number from 1$/)
    assert.equal(faultOf('ssh.serveralivecountmax', '0'), undefined)
  })
})
