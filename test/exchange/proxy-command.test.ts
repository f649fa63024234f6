import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { hopOfProxyCommand } from '../../src/exchange/proxy-command.ts'

describe('the hop of a ProxyCommand', () => {
  for (const [command, hop] of Object.entries({
    none: 'none',
    'nc %h %p': 'none',
    '/usr/bin/nc %h %p': 'none',
    'nc -X 5 %h %p': undefined,
    'nc %p %h': undefined,
    'nc other 22': undefined,
    '/tmp/nc %h %p': undefined,
    'ssh -W %h:%p bastion': 'bastion',
    'ssh -q -p 2222 -W [%h]:%p ops@bastion': 'ops@bastion:2222',
    'ssh -W other:22 bastion': undefined,
    'corkscrew %h %p': undefined,
  }))
    it(`${hop === undefined ? 'is not known' : `is ${hop}`}: ${command}`, () =>
      assert.equal(hopOfProxyCommand(command.split(' ')), hop))
})
