import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { after, describe, it } from 'node:test'
import { executable, runExecutable } from '../../support/executable.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { openServer } from './client-home.ts'
import { serveJson } from './other-server.ts'
import { linesUntil, noSshServer, startSshServer } from './ssh-server.ts'

describe('connbook ssh to a real host', { skip: noSshServer }, async () => {
  const host = await startSshServer({ after })
  const { port, username } = host
  const own = { name: 'own', hostname: '127.0.0.1', port, username }
  const labels = { 'ssh.identityfile': host.key }
  const server = await openServer({ after }, [
    { ...own, labels },
    { ...own, name: 'keyless' },
  ])
  const environment = { ...server.environment, PATH: [host.path, process.env.PATH].join(delimiter) }

  const ssh = (args: readonly string[], input = '') => runExecutable(['ssh', ...args], { environment, input })

  it('ends with the exit code of the command there, and hands on what both sides write', async () => {
    const command = ['cat', '&&', 'echo', "'a  b'", '>&2;', 'exit', '7']
    assert.deepEqual(await ssh(['own', ...command], 'é\0\n'), { code: 7, stdout: 'é\0\n', stderr: 'a  b\n' })
  })

  it('takes flags of ssh behind the name', async () => {
    const { code, stderr } = await ssh(['own', '-V'])
    assert.equal(code, 0)
    assert.match(stderr, /^OpenSSH/)
  })

  it('ends as ssh does when the host lets nobody in', async () => {
    const { code, stdout, stderr } = await ssh(['keyless', 'true'])
    assert.deepEqual([code, stdout], [255, ''])
    assert.match(stderr, /Permission denied \(publickey\)/)
  })

  it('is ssh, which gets the signals', async (t) => {
    const child = spawn(executable, ['ssh', 'own', 'echo ready; exec cat'], { env: environment })
    t.after(() => void child.kill('SIGKILL'))
    const ended = once(child, 'close')
    assert.equal(await linesUntil(child.stdout, 'ready'), 'ready\n')
    assert.equal(await readFile(`/proc/${child.pid}/comm`, 'utf8'), 'ssh\n')
    child.kill('SIGTERM')
    assert.deepEqual(await ended, [255, null])
  })

  it('gets no variable that holds a credential, so that neither a proxy nor SendEnv has one', async (t) => {
    const folder = await temporaryFolder(t)
    await writeFile(join(folder, 'ssh'), '#!/bin/sh\nenv\n', { mode: 0o700 })
    const credentials = {
      CONNBOOK_TOKEN: server.environment.CONNBOOK_TOKEN ?? '',
      CONNBOOK_ADMIN_PASSWORD: 'secret3',
      CONNBOOK_ADMIN_PASSWORD_FILE: 'secret4',
      CONNBOOK_CLIENT_SECRET: 'secret5',
      CONNBOOK_CLIENT_SECRET_FILE: 'secret6',
    }
    const given = {
      ...environment,
      ...credentials,
      KEPT: 'kept',
      PATH: [folder, process.env.PATH].join(delimiter),
    }
    const { code, stdout, stderr } = await runExecutable(['ssh', 'own'], { environment: given })
    assert.equal(code, 0, stderr)
    assert.match(stdout, /^KEPT=kept$/m)
    assert.match(stdout, /^CONNBOOK_SERVER=/m)
    for (const [name, value] of Object.entries(credentials))
      assert.ok(!stdout.includes(name) && !stdout.includes(value), name)
  })

  it('runs nothing of a record that would be an option or a command', async (t) => {
    const cwd = await temporaryFolder(t)
    const hostile = [
      { hostname: '-oProxyCommand=touch X' },
      { hostname: '-oProxyCommand=touch\tX' },
      { username: '-oProxyCommand=touch X' },
      { labels: { 'ssh.proxyjump': '-oProxyCommand=touch X' } },
      { labels: { 'ssh.identityfile': '-oProxyCommand=touch X' } },
    ]
    const codes = await Promise.all(
      hostile.map(async (more) => {
        const url = await serveJson(t, 200, { configurations: [{ id: 1, ...own, ...more }] })
        const run = { cwd, environment: { ...environment, CONNBOOK_SERVER: url } }
        return (await runExecutable(['ssh', 'x', 'true'], run)).code
      }),
    )
    // The last is the name of a key that is not there.
    assert.deepEqual(codes, [1, 1, 1, 1, 255])
    assert.deepEqual(await readdir(cwd), [])
  })
})
