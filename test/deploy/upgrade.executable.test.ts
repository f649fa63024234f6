import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { chmod, copyFile, mkdir, readFile, readlink, stat, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { getToken, logIn } from '../support/api.ts'
import { executable, runExecutable, startExecutable } from '../support/executable.ts'
import { createClient, namesIn } from '../support/http-client.ts'
import { admin, client, firstStartEnvironment } from '../support/service.ts'
import { draft } from '../support/store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { readBlock } from './published.ts'
import { runLine } from './shell.ts'

describe('an upgrade as the README describes it', () => {
  it('replaces the executable of a running server, and logs nobody out', async (t) => {
    const host = await prepareHost(t)
    const first = await host.start()
    const credentials = [await logIn(first.url, admin), await getToken(first.url, client)]
    const ask = createClient(first.url, credentials[0])
    await ask('POST', '/configurations/', { body: draft('kept') })
    const before = await ask('GET', '/configurations/')
    const running = `/proc/${first.process.pid}/exe`
    const oldFile = await stat(host.installed)

    for (const line of host.lines) {
      const { code, output } = await host.run(line)
      assert.equal(code, 0, `${line}: ${output}`)
    }
    assert.equal(await readFile(host.restarts, 'utf8'), 'restart connbook\n')
    assert.equal((await stat(host.backups)).mode & 0o777, 0o700)
    const newFile = await stat(host.installed)
    assert.notEqual(newFile.ino, oldFile.ino)
    assert.equal(newFile.mode & 0o777, 0o755)
    // The old file exists as long as its process does.
    assert.equal(await readlink(running), `${host.installed} (deleted)`)
    assert.equal((await ask('GET', '/configurations/')).text, before.text)

    assert.equal(await first.stop(), 0)
    const second = await host.start()
    for (const credential of credentials) {
      const after = await createClient(second.url, credential)('GET', '/configurations/')
      assert.equal(after.text, before.text)
    }
  })

  it('can be undone when the older connbook does not know the format', async (t) => {
    const host = await prepareHost(t)
    const first = await host.start()
    const ask = createClient(first.url, await logIn(first.url, admin))
    await ask('POST', '/configurations/', { body: draft('kept') })
    const backingUp = host.lines.filter((line) => line.includes(host.backups)).join(' && ')
    assert.equal((await host.run(backingUp)).code, 0)
    assert.equal(await first.stop(), 0)

    const accounts = join(host.data, 'accounts.json')
    const newer = (await readFile(accounts, 'utf8')).replace('"version": 1', '"version": 2')
    await writeFile(accounts, newer)
    const refused = await runExecutable(['--data', host.data, '--port', '0'])
    assert.equal(refused.code, 65)
    assert.match(refused.stderr, /accounts\.json.*version 2 is unknown to this program/)
    assert.equal(await readFile(accounts, 'utf8'), newer)

    const restored = await runExecutable([
      'restore',
      join(host.backups, 'before-upgrade.json'),
      '--data',
      host.data,
    ])
    assert.equal(restored.code, 0, restored.stderr)
    const second = await host.start()
    const list = await createClient(second.url, await logIn(second.url, admin))('GET', '/configurations/')
    assert.deepEqual(namesIn(list), ['kept'])
  })
})

/** The README's folders of the host, below a folder of the test, with stand-ins for sudo and systemctl. */
async function prepareHost(t: TestContext) {
  const folder = await temporaryFolder(t)
  const at = (name: string) => join(folder, name)
  const [bin, backups, data, restarts] = [at('bin'), at('backups'), at('data'), at('restarts')]
  for (const path of [bin, at('stand-ins')]) await mkdir(path)
  for (const path of [join(bin, 'connbook'), at('connbook')]) await copyFile(executable, path)
  await standIn('sudo', 'exec "$@"')
  await standIn('systemctl', `echo "$@" >> ${restarts}`)
  const published = await readBlock('### Upgrade', 'sh')
  const lines = published
    .replaceAll('/usr/local/bin', bin)
    .replaceAll('/var/backups/connbook', backups)
    .replaceAll('/var/lib/connbook', data)
    .trimEnd()
    .split('\n')

  return {
    installed: join(bin, 'connbook'),
    backups,
    data,
    restarts,
    lines,
    start: () =>
      startExecutable(t, ['--data', data], {
        environment: firstStartEnvironment,
        // `startExecutable` puts the path of the build first; the test replaces another file.
        through: ['/bin/sh', '-c', 'shift; exec "$0" "$@"', join(bin, 'connbook')],
      }),
    run: (line: string) =>
      runLine(line, { cwd: folder, env: { PATH: [at('stand-ins'), bin, process.env.PATH].join(delimiter) } }),
  }

  async function standIn(name: string, script: string) {
    const path = join(at('stand-ins'), name)
    await writeFile(path, `#!/bin/sh\n${script}\n`)
    await chmod(path, 0o700)
  }
}
