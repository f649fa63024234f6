import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import { sshCommandTo } from '../../src/exchange/ssh-command.ts'
import { parseIPv6 } from '../../src/network.ts'
import { missing } from '../support/debian.ts'
import { casesOfSlow, holdLaterFor } from '../support/properties/hold-property.ts'
import { sshRecords } from './ssh-records.ts'

const run = promisify(execFile)

const nobody = () => undefined

describe('sshCommandTo', () => {
  it('means to ssh what the record says', { skip: missing('ssh') }, async (t) => {
    const check = async (record: Parameters<typeof sshCommandTo>[0]) => {
      const command = sshCommandTo(record, nobody)
      if (typeof command === 'string') return
      const { args } = command
      const { stdout } = await run('ssh', ['-F', 'none', '-G', ...args])
      const told = new Map(
        stdout.split('\n').map((line) => [line.split(' ', 1)[0], line.replace(/^\S+ /, '')]),
      )
      const host = args.at(-1) ?? ''
      // ssh writes IPv6 addresses in their shortest form.
      const sameAs = (text: string) => parseIPv6(text)?.toString('hex') ?? text.toLowerCase()
      assert.equal(sameAs(told.get('hostname') ?? ''), sameAs(host))
      assert.equal(told.get('user'), record.username)
      assert.equal(told.get('port'), String(record.port))
      assert.equal(told.get('proxycommand'), undefined)
    }
    await holdLaterFor(t, sshRecords, check, casesOfSlow(40, 2_000))
  })
})
