import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { copyLines, sshLine } from '../../src/console/copy-lines.ts'

const record = { id: 1, name: 'web1', hostname: 'web1.example.net', port: 2222, username: 'deploy' }
const api = { url: (path: string) => `https://connbook.example.net/base/${path}` }

describe('the lines that the console copies', () => {
  it('are short for a usual record', () => {
    assert.deepEqual(
      copyLines(record, api).map(({ text }) => text),
      [
        'ssh -p 2222 -- deploy@web1.example.net',
        'deploy@web1.example.net:2222',
        'curl -H "Authorization: Bearer $TOKEN" https://connbook.example.net/base/configurations/web1',
      ],
    )
    assert.equal(sshLine({ ...record, port: 22 }), 'ssh -- deploy@web1.example.net')
  })

  it('write an IPv6 address as ssh and as others take it', () => {
    for (const hostname of ['2001:db8::1', '[2001:db8::1]']) {
      const [ssh, address] = copyLines({ ...record, hostname }, api)
      assert.equal(ssh?.text, 'ssh -p 2222 -- deploy@2001:db8::1')
      assert.equal(address?.text, 'deploy@[2001:db8::1]:2222')
    }
  })
})
