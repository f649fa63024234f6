import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { runCommand } from '../support/command.ts'
import { missing } from '../support/debian.ts'
import { start, usedFolder } from '../support/service.ts'
import { faultsOf, homeWith } from './ssh-home.ts'
import { askSshAs } from './ssh-meaning.ts'

/** As people have it. */
const real = {
  config: `# shared with the team
Include conf.d/*.conf ~/.ssh/none
User "ops"

Host bastion jump
  HostName bastion.example.net
  Port 2200
  ServerAliveInterval 30

Host *.internal db1 db2
  ProxyJump bastion
  Include in-host

Host db1 db2
  HostName %h.internal
  User postgres
  IdentityFile ~/.ssh/late

Host direct
  ProxyJump none

Host * !direct
  IdentityFile ~/.ssh/id_all
  ForwardAgent yes
`,
  'conf.d/10.conf': 'Host web1 web2\r\n  HostName=%h.example.net\r\n  User deploy\r\n',
  'conf.d/20.conf': 'Host web?\n  Port 2222\n  ProxyJump me@bastion:2200\n',
  'conf.d/.hidden.conf': 'Host never\n',
  'in-host':
    'IdentityFile "~/.ssh/id db"\nHost db2\n  Port 5433\nHost web1\n  IdentityFile ~/.ssh/not_here\n',
}

const aliases = ['web1', 'web2', 'bastion', 'jump', 'db1', 'db2', 'direct']

describe('connbook import of a real SSH configuration', () => {
  for (const isRunning of [false, true]) {
    it(`${isRunning ? 'beside a server ' : ''}means the same to ssh, but for what is named`, {
      skip: missing('ssh'),
    }, async (t) => {
      const { home, config, environment } = await homeWith(t, real)
      const folder = isRunning ? (await start(t)).folder.path : await usedFolder(t)
      const args = ['import', config, '--data', folder]
      const done = await runCommand([...args, '--mode', 'replace'], { environment })
      const place = `connbook: ${config}, line`
      assert.deepEqual(
        [done.code, done.stderr.trimEnd().split('\n').slice(0, -1)],
        [
          0,
          [
            `${place} 2: Include matches no file: "${join(home, '.ssh/none')}"`,
            `${place} 24: ForwardAgent was left out`,
            `${place} 17: IdentityFile was left out where it is not the first: a record keeps one: lines 17 and 23`,
          ],
        ],
      )
      const { stdout } = await runCommand(['export', '--format', 'ssh-config', '--data', folder])
      const exported = join(home, 'exported')
      await writeFile(exported, stdout)
      assert.deepEqual(
        [...stdout.matchAll(/^Host (.*)$/gm)].map(([, name]) => name),
        aliases,
      )
      const wanted = await askSshAs(home, config, aliases)
      assert.deepEqual(
        await askSshAs(home, exported, aliases),
        wanted.map((meaning) => ({ ...meaning, identities: meaning.identities.slice(0, 1) })),
      )
    })
  }

  it('reads no Include of a pipe', async (t) => {
    const mkfifo = (folder: string) => void execFileSync('mkfifo', [join(folder, 'fifo')])
    assert.deepEqual(await faultsOf(t, { config: 'Include fifo\nHost a\n  User x\n' }, mkfifo), [
      '  line 1: Include "~/.ssh/fifo" cannot be read: it is not a plain file',
    ])
  })

  it('stops at an Include that would go on for ever', async (t) => {
    const texts: Record<string, string> = { config: 'Include l0\nHost a\n  User x\n' }
    for (let i = 0; i < 8; i++) texts[`l${i}`] = `Include l${i + 1}\n`.repeat(10)
    texts.l8 = ''
    const { home, config, environment } = await homeWith(t, texts)
    const { code, stderr } = await runCommand(['import', config, '--skip', '--data', join(home, 'data')], {
      environment,
    })
    assert.deepEqual(
      [code, stderr],
      [
        1,
        `connbook: Cannot import ${config}: It includes files more than 10000 times; nothing has changed\n`,
      ],
    )
  })
})
