import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { access, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import type { InitialCredentials } from '../../src/auth/initial-credentials.ts'
import { dataFiles } from '../../src/files/data-folder.ts'
import { runCommand } from '../support/command.ts'
import { startExecutable } from '../support/executable.ts'
import { hasTerminals, startAtTerminal } from '../support/pseudo-terminal.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
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
