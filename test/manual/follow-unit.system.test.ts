import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { missing } from '../support/debian.ts'
import { eventually } from '../support/eventually.ts'
import { executable } from '../support/executable.ts'
import { client, start } from '../support/service.ts'
import { complaints } from '../support/systemd-analyze.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { readBlock } from './published.ts'

describe('the unit in the chapter "export"', () => {
  const unit = readBlock('export', 'ini')

  it('is one that systemd takes', { skip: missing('systemd-analyze') }, async (t) => {
    const path = join(await temporaryFolder(t), 'connbook-ssh.service')
    await writeFile(path, unit.replaceAll('/usr/bin/connbook', executable))
    assert.equal(await complaints(path), '')
  })

  it('keeps a file for ssh, with the credential that it names', async (t) => {
    const service = await start(t)
    const home = await temporaryFolder(t)
    await mkdir(join(home, '.config'))
    await mkdir(join(home, '.ssh'))
    await writeFile(join(home, '.config', 'connbook-secret'), `${client.client_secret}\n`)
    const text = unit
      .replaceAll('%h', home)
      .replace('https://book.example.net', service.url)
      .replace('=ssh-hosts', `=${client.client_id}`)
    const [, line = ''] = /^ExecStart=(.*)$/m.exec(text) ?? []
    const variables = Array.from(text.matchAll(/^Environment=(\w+)=(.*)$/gm), ([, name, value]) => [
      name,
      value,
    ])
    const [, ...words] = line.split(' ')
    const child = spawn(executable, words, { env: Object.fromEntries(variables), stdio: 'ignore' })
    t.after(() => void child.kill('SIGKILL'))
    const headers = { Authorization: await service.bearer() }
    for (const name of ['odd name', 'web1']) {
      const body = JSON.stringify({ name, hostname: 'web1.example', port: 22, username: 'ops' })
      assert.equal((await service.call('/configurations/', { method: 'POST', headers, body })).status, 200)
    }
    const file = join(home, '.ssh', 'connbook_config')
    const shown = 'Host web1\n  HostName web1.example\n  Port 22\n  User ops\n'
    await eventually(
      'the file is there',
      async () => (await readFile(file, 'utf8').catch(() => '')) === shown,
    )
    child.kill('SIGTERM')
    assert.deepEqual(await once(child, 'exit'), [0, null])
  })
})
