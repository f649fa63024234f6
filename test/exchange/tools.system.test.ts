import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { noSshServer, startSshServer } from '../commands/remote/ssh-server.ts'
import { missing } from '../support/debian.ts'
import { draft } from '../support/store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { exported, meaningful, recordsOf } from './records.ts'
import {
  ansibleLabelsOf,
  askAnsible,
  askAnsibleByScript,
  askShell,
  askSsh,
  assertSeen,
  assertSeenByPsql,
  listenAsPostgres,
  meaningfulRecords,
  psql,
  run,
  sshLabelsOf,
} from './tools.ts'

const longestRecords = recordsOf([draft('\u2028'.repeat(255)), draft('"'.repeat(255))])

describe('an ssh-config export', { skip: missing('ssh') }, () => {
  it('is read correctly by ssh, with names of every kind', (t) =>
    assertSeen(t, 'ssh-config', meaningfulRecords, askSsh, sshLabelsOf))

  it('leaves out only names that ssh refuses or would not find', async (t) => {
    const { obstacles } = await exported('ssh-config', meaningfulRecords)
    const file = join(await temporaryFolder(t), 'config')
    const finds = async (name: string) => {
      const quoted = name.replaceAll(/["\\]/g, '\\$&')
      await writeFile(file, `Host "${quoted}"\n  HostName found.example\n`)
      const { stdout } = await run('ssh', ['-G', '-F', file, name]).catch(() => ({ stdout: '' }))
      return stdout.includes('\nhostname found.example\n')
    }
    // Only newer versions refuse a comma; Debian's 9.2 does so from its patch level 10 on.
    const isCommaTaken = await finds('a,b')
    if (isCommaTaken) t.diagnostic('This ssh takes a comma in a name, so names with one were not tried')
    let tried = 0
    for (const { name } of meaningfulRecords) {
      const obstacle = Object.hasOwn(obstacles, name) ? (obstacles[name] ?? '') : ''
      if (!/name/.test(obstacle) || /username|pattern/.test(obstacle)) continue
      if (isCommaTaken && name.includes(',')) continue
      tried += 1
      assert.equal(await finds(name), false, name)
    }
    assert.ok(tried > 10, `${tried} names`)
  })
})

describe('an ansible export', { skip: missing('ansible-inventory') }, () => {
  it('is read correctly by ansible-inventory, with names of every kind, up to the longest', (t) =>
    assertSeen(t, 'ansible', [...meaningfulRecords, ...longestRecords], askAnsible, ansibleLabelsOf))

  it('is read correctly without any records', (t) => assertSeen(t, 'ansible', [], askAnsible))

  it('has groups of every kind, and the hosts of those that cannot be', async (t) => {
    const groups = [...meaningful, 'k3s-cluster', 'eu.west', '1st_floor', 'a b', '_meta', 'hosts', 'h1']
    const records = groups.map((group, i) => draft(`h${i}`, { labels: { group } }))
    await assertSeen(t, 'ansible', recordsOf(records), askAnsible, ansibleLabelsOf)
  })

  it('leaves out only names that Ansible refuses or reads otherwise', async (t) => {
    const names = [
      ...meaningful,
      '2001:db8::10',
      'fe80::1:22',
      '12:30:45',
      'a b:22',
      '-:1',
      'a_:1',
      '192.0.2.1:22',
    ]
    const { obstacles } = await exported('ansible', recordsOf(names.map((name) => draft(name))))
    const file = join(await temporaryFolder(t), 'inventory.yml')
    for (const [name, reason] of Object.entries(obstacles)) {
      // The inventory shows it, but Ansible evaluates it when it uses the name.
      if (reason.includes('template')) continue
      // It takes them, for the machine that it runs on.
      if (reason.includes('machine')) continue
      const hosts = { [name]: { ansible_port: 7 }, other: {} }
      await writeFile(
        file,
        JSON.stringify({ all: { hosts, children: { group: { hosts: { [name]: {}, other: {} } } } } }),
      )
      const seen = await askAnsible(file, [name, 'other']).catch(() => [])
      assert.ok(seen[0]?.port !== 7, name)
    }
    assert.ok(Object.keys(obstacles).length > 5)
  })
})

describe('connections that Ansible keeps open', { skip: missing('ansible-inventory') }, () => {
  it('are found by another path for each record of one address behind two hops', async (t) => {
    const records = recordsOf([
      draft('gate1', { hostname: '192.0.2.1' }),
      draft('gate2', { hostname: '192.0.2.2' }),
      ...['gate1', 'gate2'].map((gate) =>
        draft(`behind-${gate}`, { hostname: '10.0.0.5', labels: { 'ssh.proxyjump': gate } }),
      ),
    ])
    const folder = await temporaryFolder(t)
    const file = join(folder, 'inventory.yml')
    await writeFile(file, (await exported('ansible', records)).text)
    const calls = join(folder, 'calls')
    await writeFile(join(folder, 'ssh'), `#!/bin/sh\necho "$@" >> '${calls}'\nexit 255\n`, { mode: 0o700 })
    const env = { PATH: `${folder}:${process.env.PATH}`, HOME: folder, LC_ALL: 'C.UTF-8' }
    const words = ['behind-*', '-i', file, '-u', 'other', '-m', 'raw', '-a', 'true', '-f', '1']
    await assert.rejects(run('ansible', words, { env }))
    const lines = (await readFile(calls, 'utf8')).split('\n').filter((line) => line.includes('10.0.0.5'))
    const pathBy = new Map(
      lines.map((line) => [/-J (\S+)/.exec(line)?.[1], /ControlPath="?([^" ]+)/.exec(line)?.[1] ?? '']),
    )
    assert.deepEqual([...pathBy.keys()], ['ops@192.0.2.1:22', 'ops@192.0.2.2:22'])
    assert.equal(new Set(pathBy.values()).size, 2)
    for (const path of pathBy.values())
      assert.match(path, new RegExp(`^${RegExp.escape(folder)}/\\.ansible/cp/[0-9a-f]{12}-%r-%p$`))
  })
})

describe('connections that Ansible keeps open to real servers', {
  skip: noSshServer || missing('ansible-inventory'),
}, () => {
  it('are not used for another record of the same address, whose own way is closed', async (t) => {
    const host = await startSshServer(t)
    const gates = [await startSshServer(t), await startSshServer(t, ['AllowTcpForwarding no'])]
    const reached = { hostname: '127.0.0.1', username: host.username }
    const records = recordsOf([
      ...gates.map(({ port }, i) => draft(`gate${i}`, { ...reached, port })),
      ...gates.map((_, i) =>
        draft(`behind${i}`, { ...reached, port: host.port, labels: { 'ssh.proxyjump': `gate${i}` } }),
      ),
    ])
    // The path of a socket is short.
    const folder = await temporaryFolder(t)
    const file = join(folder, 'inventory.yml')
    await writeFile(file, (await exported('ansible', records)).text)
    const settings = join(folder, 'ssh_config')
    const lines = [
      ...['StrictHostKeyChecking no', 'UserKnownHostsFile /dev/null', 'LogLevel ERROR', 'BatchMode yes'],
      ...[host, ...gates].map(({ key }) => `IdentityFile ${key}`),
    ]
    await writeFile(settings, `${lines.join('\n')}\n`)
    await writeFile(join(folder, 'ssh'), `#!/bin/sh\nexec /usr/bin/ssh -F '${settings}' "$@"\n`, {
      mode: 0o700,
    })
    const env = {
      ...{ PATH: `${folder}:${process.env.PATH}`, HOME: folder, LC_ALL: 'C.UTF-8' },
      // As Ansible has it, but not for a minute.
      ANSIBLE_SSH_ARGS: '-C -o ControlMaster=auto -o ControlPersist=10s',
    }
    const ping = (name: string) =>
      run('ansible', [name, '-i', file, '-m', 'raw', '-a', 'echo here', '-o'], { env }).then(
        ({ stdout }) => stdout,
        (error: { readonly stdout: string }) => error.stdout,
      )
    assert.match(await ping('behind0'), /^behind0 \| CHANGED .*here/)
    assert.equal((await readdir(join(folder, '.ansible/cp'))).length, 1)
    assert.match(await ping('behind1'), /^behind1 \| UNREACHABLE!/)
    assert.match(await ping('behind0'), /^behind0 \| CHANGED .*here/)
  })
})

describe("Ansible's own machine", { skip: missing('ansible-inventory') }, () => {
  for (const format of ['ansible', 'ansible-json'] as const)
    it(`stays that with an export as ${format} of records and groups that have its names`, async (t) => {
      const names = ['localhost', '127.0.0.1', '::1']
      const records = recordsOf([
        ...names.map((name) => draft(name, { hostname: 'evil.example' })),
        draft('web', { hostname: 'evil.example', labels: { group: 'localhost,127.0.0.1,::1,good' } }),
      ])
      const folder = await temporaryFolder(t)
      const file = join(folder, 'export')
      await writeFile(file, (await exported(format, records)).text)
      const script = join(folder, 'inventory')
      await writeFile(script, `#!/bin/sh\ncat '${file}'\n`, { mode: 0o700 })
      const env = { PATH: process.env.PATH, HOME: folder, LC_ALL: 'C.UTF-8' }
      for (const pattern of names) {
        const words = [pattern, '-i', format === 'ansible' ? file : script, '-m', 'debug']
        const asked = [...words, '-a', 'msg={{ ansible_connection }}_{{ ansible_host | default("here") }}']
        const { stdout } = await run('ansible', asked, { env })
        assert.match(stdout, /"msg": "local_(?:here|127\.0\.0\.1)"/, pattern)
      }
    })
})

describe('an ansible-json export', { skip: missing('ansible-inventory') }, () => {
  it('is read correctly from a script by ansible-inventory, with names of every kind', (t) =>
    assertSeen(
      t,
      'ansible-json',
      [...meaningfulRecords, ...longestRecords],
      askAnsibleByScript,
      ansibleLabelsOf,
    ))

  it('has groups of every kind', async (t) => {
    const groups = [...meaningful, 'k3s-cluster', 'eu.west', '1st_floor', 'a b', '_meta', 'hosts']
    const records = groups.map((group, i) =>
      draft(`h${i}`, {
        labels: { group, env: '{{ 1 }}', 'ssh.proxyjump': 'h0', 'ssh.identityfile': '~/a b' },
      }),
    )
    await assertSeen(t, 'ansible-json', recordsOf(records.slice(1)), askAnsibleByScript, ansibleLabelsOf)
  })
})

describe('a pg-service export', { skip: missing('psql') }, () => {
  it('is read correctly by psql, with names of every kind', (t) =>
    assertSeenByPsql(
      t,
      meaningful.flatMap((name, i) => (i % 2 === 0 ? [[name, meaningful[i + 1] ?? 'ops'] as const] : [])),
    ))

  it('is read correctly by psql up to the longest names', (t) =>
    assertSeenByPsql(t, [
      ['\u{1f5c4}'.repeat(254), 'a'.repeat(255)],
      ['a', '\u{1f5c4}'.repeat(254)],
      ['\u{1f5c4}'.repeat(255), 'too long'],
      ['b', '\u{1f5c4}'.repeat(255)],
    ]))
})

describe('the labels of a pg-service export', { skip: missing('psql') }, () => {
  it('make psql ask for TLS, or not', async (t) => {
    const { seen, port } = await listenAsPostgres(t)
    const records = recordsOf(
      ['require', 'disable'].map((mode) =>
        draft(mode, { hostname: '127.0.0.1', port, labels: { 'pg.sslmode': mode, 'pg.dbname': 'app' } }),
      ),
    )
    const file = join(await temporaryFolder(t), 'export')
    await writeFile(file, (await exported('pg-service', records)).text)
    const env = { PATH: process.env.PATH, PGSERVICEFILE: file, PGGSSENCMODE: 'disable', LC_ALL: 'C.UTF-8' }
    await assert.rejects(run(psql, ['-w', 'service=require'], { env }), /SSL was required/)
    assert.equal(seen.length, 0)
    await assert.rejects(run(psql, ['-w', 'service=disable'], { env }), /refused/)
    assert.equal(seen[0]?.database, 'app')
  })
})

describe('an env export', () => {
  it('is read correctly by a shell, with names of every kind', (t) =>
    assertSeen(t, 'env', meaningfulRecords, askShell))
})
