import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { access, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import type { InitialCredentials } from '../../src/auth/initial-credentials.ts'
import { newKeysCommand } from '../../src/auth/keys.ts'
import { dataFiles } from '../../src/files/data-folder.ts'
import { welcome } from '../../src/service/first-start.ts'
import { runCommand } from '../support/command.ts'
import { startExecutable } from '../support/executable.ts'
import { createFailingFiles, failOn } from '../support/failing-files.ts'
import { hasTerminals, startAtTerminal } from '../support/pseudo-terminal.ts'
import { start } from '../support/service.ts'
import { openedFolder, temporaryFolder } from '../support/temporary-folder.ts'
import { getIn, initialCredentialsIn } from './first-credentials.ts'

describe('the first start', () => {
  it('creates working credentials, and shows their file but not the secrets', async (t) => {
    const folder = await temporaryFolder(t)
    const server = await startExecutable(t, ['--data', folder])
    const credentials = await initialCredentialsIn(folder)
    const { username, password = '', client_id, client_secret = '' } = credentials
    assert.deepEqual([username, client_id, Object.keys(credentials).length], ['admin', 'default', 4])
    for (const secret of [password, client_secret]) assert.match(secret, /^[A-Za-z0-9]{43}$/)
    assert.notEqual(password, client_secret)
    assert.equal((await stat(join(folder, dataFiles.initialCredentials))).mode & 0o777, 0o600)
    assert.deepEqual(await getIn(server.url, credentials), [true, true])
    assert.ok(server.stderr().includes(join(folder, dataFiles.initialCredentials)))
    for (const secret of [password, client_secret]) assert.ok(!server.stderr().includes(secret))

    for (const [words, left] of [
      ['user passwd admin', { client_id, client_secret }],
      ['client rotate default', undefined],
    ] as const) {
      await runCommand([...words.split(' '), '--data', folder], { input: 'another one' })
      if (left) assert.deepEqual(await initialCredentialsIn(folder), left)
      else await assert.rejects(access(join(folder, dataFiles.initialCredentials)), { code: 'ENOENT' })
    }
  })

  it('shows the credentials at a terminal, with working lines to paste', {
    skip: !hasTerminals,
  }, async (t) => {
    const folder = await temporaryFolder(t)
    const terminal = startAtTerminal(t, ['--host', '127.0.0.1', '--port', '0', '--data', folder])
    await terminal.sees('/v1/auth/token')
    await terminal.sees('/configurations/')
    const { username, password, client_id, client_secret } = await initialCredentialsIn(folder)
    const screen = terminal.screen()
    const url = /listening url=(http:\S+)/.exec(screen)?.[1]
    assert.ok(screen.includes(`-d '${JSON.stringify({ username, password })}' ${url}/login`))
    assert.ok(screen.includes(`-d '${JSON.stringify({ client_id, client_secret })}' ${url}/v1/auth/token`))
    assert.ok(screen.includes(join(folder, dataFiles.initialCredentials)))
    assert.deepEqual(
      await getIn(url ?? '', { username, password, client_id, client_secret } as InitialCredentials),
      [true, true],
    )
    terminal.type('\u0003')
    assert.equal(await terminal.exitCode, 0)

    const again = startAtTerminal(t, ['--host', '127.0.0.1', '--port', '0', '--data', folder])
    await again.sees('listening')
    again.type('\u0003')
    assert.equal(await again.exitCode, 0)
    assert.ok(!again.screen().includes(password ?? ''))
  })
})

describe('welcome', () => {
  it('has lines to paste that work for any names', async (t) => {
    const names = { username: "o'neil", client_id: '$(id) `id` "' }
    const text = welcome({ ...names, password: 'p', client_secret: 's' }, await openedFolder(t), {
      url: 'http://host',
      socket: undefined,
      hasConsole: true,
    })
    assert.match(text, /^ {2}In a browser: http:\/\/host\/console\/$/m)
    // In place of curl, a script that shows its arguments.
    const sent = [...text.matchAll(/^ +curl.* -d (.+) http:\/\/host\/(?:login|v1\/auth\/token)$/gm)].map(
      ([, quoted]) => JSON.parse(execFileSync('sh', ['-c', `printf %s ${quoted}`], { encoding: 'utf8' })),
    )
    assert.deepEqual(sent, [
      { username: names.username, password: 'p' },
      { client_id: names.client_id, client_secret: 's' },
    ])
  })
})

describe('a folder from which a file is missing', () => {
  for (const name of [dataFiles.keys, dataFiles.revocations]) {
    it(`opens again after the advised command for ${name}, with every credential ended`, async (t) => {
      const folder = join(await temporaryFolder(t), "o'neil")
      const first = await start(t, { folder })
      const Authorization = await first.bearer()
      await first.stop()
      await rm(join(folder, name))
      const refusal = await start(t, { folder }).then(
        () => assert.fail('it started'),
        (error: Error) => error.message,
      )
      execFileSync('sh', ['-c', refusal.split(' run: ')[1] ?? assert.fail(refusal)])
      const second = await start(t, { folder })
      assert.equal((await second.call('/configurations/', { headers: { Authorization } })).status, 403)
      assert.match(await second.bearer(), /^Bearer ey/)
    })
  }

  const damages: Record<string, (text: string) => string> = {
    emptied: () => '',
    'damaged in the middle': (text) => text.replace('"jti":"', '"jti":"x'),
  }
  for (const [what, damage] of Object.entries(damages)) {
    it(`opens again after the advised command for revocations ${what}, and revives nothing`, async (t) => {
      const folder = join(await temporaryFolder(t), "o'neil")
      const first = await start(t, { folder })
      const ended = await first.bearer()
      await first.call('/logout', { method: 'POST', headers: { Authorization: ended } })
      await first.stop()
      const path = join(folder, dataFiles.revocations)
      await writeFile(path, damage(await readFile(path, 'utf8')))
      const refusal = await start(t, { folder }).then(
        () => assert.fail('it started'),
        (error: Error) => error.message,
      )
      execFileSync('sh', ['-c', refusal.split(' run: ')[1] ?? assert.fail(refusal)])
      const second = await start(t, { folder })
      assert.equal((await second.call('/configurations/', { headers: { Authorization: ended } })).status, 403)
      assert.match(await second.bearer(), /^Bearer ey/)
    })
  }

  it('also opens after the advised command if the disk failed in between', async (t) => {
    const folder = await openedFolder(t)
    folder.release()
    await (await start(t, { folder: folder.path })).stop()
    await rm(folder.file(dataFiles.revocations))
    execFileSync('sh', ['-c', newKeysCommand(folder)])
    const files = createFailingFiles()
    for (const name of [dataFiles.revocations, dataFiles.keys]) {
      failOn(files, 'rename', name, 'EIO')
      await assert.rejects(start(t, { folder: folder.path, files }), { code: 'EIO' })
    }
    assert.match(await (await start(t, { folder: folder.path })).bearer(), /^Bearer ey/)
  })
})
