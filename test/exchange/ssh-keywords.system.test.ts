import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { sshCommandTo } from '../../src/exchange/ssh-command.ts'
import { keptKeywords } from '../../src/exchange/ssh-keywords.ts'
import { Configuration } from '../../src/store/configuration.ts'
import { missing } from '../support/debian.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { draftsOf } from './read-text.ts'
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

describe('the keywords that records keep', { skip: missing('ssh') }, () => {
  it('are all tried', () =>
    assert.deepEqual(
      keptKeywords.map(({ keyword }) => keyword),
      Object.keys(values),
    ))

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
