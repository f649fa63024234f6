import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { domainToASCII } from 'node:url'
import { exportFormats } from '../../src/exchange/export-formats.ts'
import { lookupAddress, lookupAddressWithPort } from '../../src/exchange/lookup-address.ts'
import { sshCommandTo } from '../../src/exchange/ssh-command.ts'
import { draft } from '../support/store.ts'
import { exported, recordsOf } from './records.ts'

describe('the address that a tool looks up', () => {
  it('has no brackets around an address, and is otherwise unchanged in ASCII', () => {
    assert.equal(lookupAddress('[2001:db8::7]'), '2001:db8::7')
    for (const hostname of ['Host.example.', 'a_b', '2001:db8::7', 'fe80::1%eth0', 'fe80::1%ü', '192.0.2.7'])
      assert.equal(lookupAddress(hostname), hostname)
  })

  it('is in ASCII for an international name', () => {
    for (const hostname of [
      'bücher.example',
      'BÜCHER.Example.',
      'ß.example',
      '日本。例え',
      'ü_b',
      'ａ.example',
    ])
      assert.equal(lookupAddress(hostname), domainToASCII(hostname))
    assert.equal(lookupAddress('bücher.example'), 'xn--bcher-kva.example')
  })

  it('is unchanged where a record has what is no name', () => {
    for (const hostname of ['ü/b', 'a@ü', 'ü:80', 'ü#', 'xn--ü', '\u00ad', ''])
      assert.equal(lookupAddress(hostname), hostname)
  })

  it('has brackets in front of a port where it needs them', () => {
    for (const hostname of ['2001:db8::7', '[2001:db8::7]'])
      assert.equal(lookupAddressWithPort(hostname, 22), '[2001:db8::7]:22')
    assert.equal(lookupAddressWithPort('bücher.example', 22), 'xn--bcher-kva.example:22')
    assert.equal(lookupAddressWithPort('192.0.2.7', '22'), '192.0.2.7:22')
  })
})

describe('an international name', () => {
  const record = draft('shop', { hostname: 'bücher.example', labels: { 'ssh.proxyjump': 'gate' } })
  const gate = draft('gate', { hostname: 'tür.example', port: 2222, username: 'jump' })
  const hop = 'jump@xn--tr-xka.example:2222'

  // Programs read these as data, and what they say is the record.
  const asTyped = new Set(['json', 'jsonl', 'csv', 'env'])
  for (const format of Object.keys(exportFormats).filter((name) => name !== 'hosts'))
    it(`is in ${format} ${asTyped.has(format) ? 'as it was typed' : 'as DNS has it'}`, async () => {
      const { text } = await exported(format, recordsOf([record, gate]))
      assert.equal(/bücher|tür/.test(text), asTyped.has(format), text)
      assert.equal(/xn--bcher-kva\.example/.test(text), !asTyped.has(format), text)
    })

  it('is as DNS has it for ssh, and for hops that are written out', async () => {
    const command = sshCommandTo(record, () => gate)
    assert.deepEqual(typeof command === 'object' && command.args.slice(-3), [
      '-J',
      hop,
      'xn--bcher-kva.example',
    ])
    const { text } = await exported('ansible', recordsOf([record, gate]))
    assert.match(text, new RegExp(RegExp.escape(`-J '${hop}'`)))
    // A hop in other letters than those of ASCII has to be written out.
    const named = recordsOf([
      { ...gate, name: 'tür' },
      { ...record, labels: { 'ssh.proxyjump': 'tür' } },
    ])
    assert.match((await exported('ssh-config', named)).text, new RegExp(`ProxyJump ${RegExp.escape(hop)}\n`))
  })

  it('has the address of its form in ASCII to Ansible, which would keep one connection for both', async () => {
    const other = draft('same', { hostname: 'xn--bcher-kva.example' })
    const { text } = await exported(
      'ansible',
      recordsOf([draft('shop', { hostname: 'Bücher.example' }), other]),
    )
    assert.equal(text.match(/ansible_control_path/g)?.length, 2)
  })
})
