import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { readFile, readlink, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { openHostShell } from '../manual/host.ts'
import { blocksOf, readChapterNamed } from '../manual/published.ts'
import { getToken, logIn } from '../support/api.ts'
import { runExecutable, startExecutable } from '../support/executable.ts'
import { createClient, namesIn } from '../support/http-client.ts'
import { admin, client, firstStartEnvironment } from '../support/service.ts'
import { draft } from '../support/store.ts'

describe('an upgrade as the chapter "backup" describes it', () => {
  it('replaces the executable of a running server, and logs nobody out', async (t) => {
    const host = await prepareHost(t)
    const first = await host.start()
    const credentials = [await logIn(first.url, admin), await getToken(first.url, client)]
    const ask = createClient(first.url, credentials[0])
    await ask('POST', '/configurations/', { body: draft('kept') })
    const before = await ask('GET', '/configurations/')
    const running = `/proc/${first.process.pid}/exe`
    const oldFile = await stat(host.installed)

    await host.runLines('Upgrade')
    assert.equal(await readFile(host.calls, 'utf8'), 'systemctl restart connbook\n')
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

  it('can be undone, also when the older connbook does not know the format', async (t) => {
    const host = await prepareHost(t)
    const first = await host.start()
    const ask = createClient(first.url, await logIn(first.url, admin))
    await ask('POST', '/configurations/', { body: draft('kept') })
    const old = await stat(host.installed)
    await host.runLines('Upgrade')
    await ask('POST', '/configurations/', { body: draft('later') })
    assert.equal(await first.stop(), 0)

    const goBack = host.linesBelow('Go back to the old version')
    const [stop = '', move = '', check = '', restore = '', start = '', ...rest] = goBack
    assert.deepEqual(rest, [])
    await host.runAll([stop, move, check])
    // `cp -p` keeps the time of the old file, and a rename does too.
    assert.equal((await stat(host.installed)).mtimeMs, old.mtimeMs)

    const accounts = join(host.data, 'accounts.json')
    const newer = (await readFile(accounts, 'utf8')).replace(/"version": \d/, '"version": 9')
    await writeFile(accounts, newer)
    assert.match((await host.run(check)).text, /accounts\.json +NEWER: /)
    const refused = await runExecutable(['--data', host.data, '--port', '0'])
    assert.equal(refused.code, 65)
    assert.match(refused.stderr, /accounts\.json.*version 9 is unknown to this program/)
    assert.equal(await readFile(accounts, 'utf8'), newer)

    await host.runAll([restore, start])
    const second = await host.start()
    const list = await createClient(second.url, await logIn(second.url, admin))('GET', '/configurations/')
    assert.deepEqual(namesIn(list), ['kept'])
    const calls = await readFile(host.calls, 'utf8')
    assert.equal(calls.split('\n').slice(1).join(), 'systemctl stop connbook,systemctl start connbook,')
  })
})

describe('a restore on another host as the chapter "backup" describes it', () => {
  it('brings the records of the backup, to the folder that a first start has made', async (t) => {
    const host = await prepareHost(t)
    const first = await host.start()
    const ask = createClient(first.url, await logIn(first.url, admin))
    await ask('POST', '/configurations/', { body: draft('kept') })
    const [stop = '', restore = '', start = '', ...rest] = host.linesBelow('Restore on another host')
    assert.deepEqual(rest, [])
    const file = /restore (\S+)/.exec(restore)?.[1] ?? assert.fail(restore)
    await host.runAll([`sudo install -d ${host.backups}`, `connbook backup ${file} --data ${host.data}`])
    await ask('DELETE', '/configurations/kept')
    assert.equal((await host.run(restore)).code, 75)

    assert.equal(await first.stop(), 0)
    await host.runAll([stop, restore, start])
    const second = await host.start()
    const list = await createClient(second.url, await logIn(second.url, admin))('GET', '/configurations/')
    assert.deepEqual(namesIn(list), ['kept'])
  })
})

/** A host, and the lines of the chapter for it. */
async function prepareHost(t: TestContext) {
  const { root, run, calls, moved } = await openHostShell(t, { isCopied: true })
  const installed = join(root, 'usr/local/bin/connbook')
  const data = join(root, 'var/lib/connbook')
  const blocks = blocksOf(readChapterNamed('backup')).filter(({ language }) => language === 'bash')

  const linesBelow = (heading: string) =>
    blocks
      .filter((block) => block.heading === heading)
      .flatMap(({ text }) => moved(text).trimEnd().split('\n'))
  async function runAll(lines: readonly string[]) {
    for (const line of lines) {
      const { code, text } = await run(line)
      assert.equal(code, 0, `${line}: ${text}`)
    }
  }
  return {
    installed,
    backups: join(root, 'var/backups/connbook'),
    data,
    calls,
    run,
    linesBelow,
    runAll,
    runLines: (heading: string) => runAll(linesBelow(heading)),
    start: () =>
      startExecutable(t, ['--data', data], {
        environment: firstStartEnvironment,
        // `startExecutable` puts the path of the build first; the test replaces another file.
        through: ['/bin/sh', '-c', 'shift; exec "$0" "$@"', installed],
      }),
  }
}
