import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { sshCommandTo } from '../../src/exchange/ssh-command.ts'
import { keptKeywords } from '../../src/exchange/ssh-keywords.ts'
import { Configuration, type ImportedConfiguration } from '../../src/store/configuration.ts'
import { missing } from '../support/debian.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { draftsOf, read } from './read-text.ts'
import { exported } from './records.ts'
import { run } from './tools.ts'

/** A value of each keyword that is not its default. */
const values: Readonly<Record<string, string>> = {
  AddressFamily: 'inet6',
  Ciphers: 'aes256-ctr,aes128-gcm@openssh.com',
  Compression: 'yes',
  ConnectTimeout: '2m',
  ConnectionAttempts: '3',
  DynamicForward: 'localhost:1080',
  HostKeyAlgorithms: 'ssh-ed25519,sk-ssh-ed25519@openssh.com',
  HostKeyAlias: 'other.example',
  IdentitiesOnly: 'true',
  KexAlgorithms: '^curve25519-sha256',
  LocalForward: '[::1]:8080 db.example:5432',
  LogLevel: 'Verbose',
  MACs: 'hmac-sha2-256-etm@openssh.com',
  PubkeyAcceptedAlgorithms: '+ssh-rsa-cert-v01@openssh.com',
  RequestTTY: 'force',
  ServerAliveCountMax: '7',
  ServerAliveInterval: '90',
  TCPKeepAlive: 'no',
}

/** The lines of `ssh -G` for these keywords. */
async function meaning(args: readonly string[]): Promise<string[]> {
  const { stdout } = await run('ssh', ['-G', ...args])
  const keywords = Object.keys(values).map((keyword) => keyword.toLowerCase())
  return stdout.split('\n').filter((line) => keywords.includes(line.replace(/ .*/, '')))
}

function labelsIn(draft: ImportedConfiguration | undefined): number {
  return Object.values(draft?.labelsPatch ?? {}).length
}

describe('the keywords that records keep', { skip: missing('ssh') }, () => {
  it('are all tried', () =>
    assert.deepEqual(
      keptKeywords.map(({ keyword }) => keyword),
      Object.keys(values),
    ))

  it('are a fault where ssh refuses a forward, and nowhere else', async (t) => {
    const folder = await temporaryFolder(t)
    const ports = ['8080', '0', '65536', '70000', 'http', '-1', '']
    const near = ['', '127.0.0.1:', '[127.0.0.1]:', '[::1]:', '::1:', '*:', ':', 'bad host:', '[x:']
    const targets = [
      'db:5432',
      '[db]:443',
      '[2001:db8::1]:80',
      'db',
      'db:0',
      'db:70000',
      'db:http',
      '/run/x',
      '',
    ]
    const lines = [
      ...near.flatMap((host) => ports.map((port) => `DynamicForward ${host}${port}`)),
      ...near.map((host) => `LocalForward ${host}8080 db:5432`),
      ...ports.map((port) => `LocalForward ${port} db:5432`),
      ...targets.map((target) => `LocalForward [::1]:8080 ${target}`),
      ...['LocalForward /run/a db:1', 'LocalForward /run/a /run/b', 'DynamicForward /run/a'],
      ...['LocalForward 1 a:1 b:2', 'LocalForward a:b:c:d e:1', 'DynamicForward 1 2', 'LocalForward 1'],
    ]
    const differing: string[] = []
    for (const line of lines) {
      const config = join(folder, 'config')
      const text = `Host a\n  User u\n  ${line}\n`
      await writeFile(config, text)
      const isTaken = await meaning(['-F', config, 'a']).then(
        () => true,
        () => false,
      )
      const { faults, warnings, drafts } = read('ssh-config', text)
      const found = { fault: faults.length, reason: warnings.length, label: labelsIn(drafts[0]) }
      const isRight = isTaken ? found.fault === 0 && found.reason + found.label === 1 : found.fault === 1
      if (!isRight)
        differing.push(`${line}: ssh ${isTaken ? 'takes' : 'refuses'} it; ${JSON.stringify(found)}`)
    }
    assert.deepEqual(differing, [])
  })

  it('mean the same to ssh after an import and an export, and on the command line', async (t) => {
    const folder = await temporaryFolder(t)
    const lines = Object.entries(values).map(([keyword, value]) => `  ${keyword} ${value}\n`)
    const config = join(folder, 'config')
    const text = `Host a\n  HostName h.example\n  User u\n${lines.join('')}  LocalForward 81 x:82\n`
    await writeFile(config, text)
    const wanted = await meaning(['-F', config, 'a'])
    // Several of a host are several lines.
    assert.equal(wanted.length, Object.keys(values).length + 1)

    const [draft] = draftsOf('ssh-config', text)
    assert.ok(draft !== undefined)
    const { labelsPatch = {}, ...fields } = draft
    const labels = Object.fromEntries(
      Object.entries(labelsPatch).flatMap(([key, value]) => (value === null ? [] : [[key, value]])),
    )
    const record = new Configuration(1, { ...fields, labels })
    const again = join(folder, 'exported')
    await writeFile(again, (await exported('ssh-config', [record])).text)
    assert.deepEqual(await meaning(['-F', again, 'a']), wanted)
    const command = sshCommandTo(record, () => undefined)
    assert.ok(typeof command === 'object')
    assert.deepEqual(await meaning(['-F', 'none', ...command.args]), wanted)
  })

  it('cannot say by hand what the table refuses', async () => {
    for (const [key, value] of [
      ['ssh.localforward', '0.0.0.0:80 x:1'],
      ['ssh.localforward', '80 /run/socket'],
      ['ssh.compression', 'yes\u2028ProxyCommand x'],
      ['ssh.ciphers', 'aes256-ctr,x'],
      ['ssh.hostkeyalias', '%h'],
      ['ssh.loglevel', ''],
    ] as const) {
      const record = new Configuration(1, {
        ...{ name: 'a', hostname: 'h', port: 22, username: 'u' },
        labels: { [key]: value },
      })
      assert.match(
        (await exported('ssh-config', [record])).obstacles.a ?? '',
        new RegExp(`^has a label ${key} that `),
      )
      assert.equal(typeof sshCommandTo(record, () => undefined), 'string')
    }
  })
})
