import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { noImportOptions } from '../../src/exchange/import-options.ts'
import { labelOf } from '../../src/store/labels.ts'
import { missing } from '../support/debian.ts'
import { draft } from '../support/store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { read } from './read-text.ts'
import { bare, exported, recordsOf } from './records.ts'
import { meaningfulRecords, run } from './tools.ts'

/** What Ansible prints of an inventory. */
async function listed(t: TestContext, name: string, text: string): Promise<string> {
  const folder = await temporaryFolder(t)
  const file = join(folder, name)
  await writeFile(file, text)
  const env = { PATH: process.env.PATH, HOME: folder, LC_ALL: 'C.UTF-8', ANSIBLE_LOCALHOST_WARNING: 'false' }
  const { stdout } = await run('ansible-inventory', ['-i', file, '--list'], {
    env,
    maxBuffer: 64 * 1024 * 1024,
  })
  return stdout
}

describe('an inventory that ansible-inventory has read', { skip: missing('ansible-inventory') }, () => {
  it('gives the hosts of an INI file, with ranges, groups in groups and their variables', async (t) => {
    const text = await listed(
      t,
      'hosts.ini',
      `[all:vars]\nansible_user=ubuntu\nansible_port=22\nansible_password=hunter2\n\n` +
        `[homelab]\nproxy.homelab ansible_host=192.0.2.10\narr.homelab ansible_host=192.0.2.12 ansible_port=2222\n\n` +
        `[external]\nweb[01:03].example ansible_ssh_common_args="-J 'jump@192.0.2.1:2222'"\n\n` +
        `[docker-hosts:children]\nhomelab\nexternal\n\n[media]\narr.homelab\n\n[media:vars]\nansible_user=aria\n\n` +
        `[odd]\nport.example:2200 env=prod ansible_ssh_private_key_file=~/.ssh/k\n`,
    )
    const { drafts, faults, warnings } = read('ansible', text)
    assert.deepEqual(faults, [])
    const shown = drafts.map(({ name, hostname, port, username, labelsPatch = {} }) => {
      const labels = Object.values(labelsPatch).map((value) => value ?? '-')
      return [name, hostname, port, username, ...labels].join(' ')
    })
    const jump = 'jump@192.0.2.1:2222'
    assert.deepEqual(shown.sort(), [
      'arr.homelab 192.0.2.12 2222 aria docker-hosts,homelab,media',
      'port.example port.example 2200 ubuntu odd ~/.ssh/k',
      'proxy.homelab 192.0.2.10 22 ubuntu docker-hosts,homelab',
      ...['01', '02', '03'].map(
        (i) => `web${i}.example web${i}.example 22 ubuntu docker-hosts,external ${jump}`,
      ),
    ])
    assert.deepEqual(warnings, [
      { detail: 'variables were left out: ansible_password of 6 hosts and env of 1 host' },
    ])
  })

  it('gives the records again that an export for Ansible has written', async (t) => {
    const records = recordsOf([
      ...meaningfulRecords.map(({ id: _, ...fields }) => fields),
      draft('in1', { labels: { group: 'web,eu-west', env: 'prod' } }),
      draft('in3', { port: 5985, labels: { kind: 'winrm', group: 'win' } }),
      draft('in2', { labels: { group: 'web', role: '{{ x }}' } }),
    ])
    const { text, names } = await exported('ansible', records)
    const { drafts, faults } = read('ansible', await listed(t, 'inventory.yml', text), 4096, 100, undefined, {
      ...noImportOptions,
      extra: 'labels',
    })
    assert.deepEqual(faults, [])
    const byName = new Map(drafts.map((found) => [found.name, found]))
    const wanted = records.filter(({ name }) => names.includes(name))
    assert.equal(drafts.length, wanted.length)
    for (const { name, hostname, port, username, labels } of wanted) {
      const found = byName.get(name)
      assert.deepEqual(
        found && [found.hostname, found.port, found.username],
        [bare(hostname), port, username],
        name,
      )
      const kept = Object.entries(found?.labelsPatch ?? {}).filter(([, value]) => value !== null)
      const grouped = (labelOf(labels, 'group') ?? '').split(',').sort()
      assert.deepEqual(
        Object.fromEntries(
          kept.map(([key, value]) => [key, key === 'group' ? value?.split(',').sort() : value]),
        ),
        labels === undefined ? {} : { ...labels, group: grouped },
        name,
      )
    }
  })
})
