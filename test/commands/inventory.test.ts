import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openServer, web1 } from './remote/client-home.ts'

const hosts = [
  { ...web1, labels: { group: 'web', 'ssh.proxyjump': 'bastion' } },
  { ...web1, name: 'bastion', hostname: '192.0.2.1' },
  { ...web1, name: 'a[1:2]' },
]
const LEFT_OUT =
  'connbook: Left out 1 of 3 records as ansible-json:\n  "a[1:2]" has a name with "[", where Ansible looks for a range\n'

describe('connbook inventory', () => {
  it('lists hosts with their variables and groups, from a server as from a folder', async (t) => {
    const { run, service } = await openServer(t, hosts)
    const there = await run(['inventory', '--list'])
    assert.deepEqual([there.code, there.stderr], [0, LEFT_OUT])
    const inventory = JSON.parse(there.stdout)
    assert.deepEqual(Object.keys(inventory._meta.hostvars), ['web1', 'bastion'])
    assert.equal(inventory._meta.hostvars.web1.ansible_ssh_common_args, "-J 'deploy@192.0.2.1:22'")
    assert.deepEqual(inventory.web, { hosts: ['web1'] })
    assert.deepEqual(inventory.ungrouped, { hosts: ['bastion'] })
    const here = await run(['inventory', '--list', '--data', service.folder.path])
    assert.deepEqual(here, there)
    const part = await run(['inventory', '--list', '--label', 'group=web'])
    assert.deepEqual(Object.keys(JSON.parse(part.stdout)._meta.hostvars), ['web1'])
  })

  it('gives the variables of one host, and none of a host that is not there', async (t) => {
    const { run } = await openServer(t, hosts)
    const { code, stdout, stderr } = await run(['inventory', '--host', 'bastion'])
    assert.deepEqual(
      { code, stdout, stderr },
      {
        code: 0,
        stdout: '{"ansible_host":"192.0.2.1","ansible_port":22,"ansible_user":"deploy"}\n',
        stderr: '',
      },
    )
    for (const name of ['nobody', '__proto__', 'a[1:2]', 'a&b=%', 'x'.repeat(300)]) {
      const found = await run(['inventory', '--host', name])
      assert.deepEqual([found.code, found.stdout], [0, '{}\n'], name)
    }
  })

  it('wants one of its two flags', async (t) => {
    const { run } = await openServer(t)
    for (const words of [[], ['--list', '--host', 'a']]) {
      const { code, stderr } = await run(['inventory', ...words])
      assert.equal(code, 2)
      assert.match(stderr, /Give --list, or --host NAME/)
    }
  })
})
