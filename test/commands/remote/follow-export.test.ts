import '../../support/node-version.ts'
import '../../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { mkdir, readdir, readFile, rename, rm, stat, symlink, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { Client } from '../../../src/client/client.ts'
import { tokenCredential } from '../../../src/client/credential.ts'
import { parseEndpoint } from '../../../src/client/endpoint.ts'
import { parseCommandLine } from '../../../src/command-line/command-line.ts'
import { OpenedBooks } from '../../../src/command-line/opened-books.ts'
import {
  FILE_LOOK_MS,
  followExport,
  GATHER_MS,
  NEXT_WAIT_MS,
  RETRY_MS,
} from '../../../src/commands/follow-export.ts'
import { clientFlags, connect } from '../../../src/commands/remote/connect.ts'
import type { WantedExport } from '../../../src/commands/served-export.ts'
import { eventually } from '../../support/eventually.ts'
import { freePort } from '../../support/free-port.ts'
import { start, type TestService, usedFolder } from '../../support/service.ts'
import { skipPauses } from '../../support/skipped-pauses.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { db1, openHome, openServer, web1 } from './client-home.ts'
import { problemOf, serveOther } from './other-server.ts'

/** ssh would take it for several patterns. */
const spaced = { ...web1, name: 'a b' }

const asCsv = { format: 'csv', skip: false, query: '' } as const

/** Follows an export until the test ends. */
async function follow(t: TestContext, client: Client, wanted: WantedExport = asCsv) {
  skipPauses(t, GATHER_MS, FILE_LOOK_MS, RETRY_MS, NEXT_WAIT_MS)
  const folder = join(await temporaryFolder(t), 'of the file')
  await mkdir(folder)
  const path = join(folder, 'out')
  const controller = new AbortController()
  t.after(() => controller.abort('SIGTERM'))
  let stderr = ''
  /** For each time that the file was fresh, whether it was written. */
  const writes: boolean[] = []
  const command = { fileIsFresh: (isWritten: boolean) => void writes.push(isWritten), stop: async () => {} }
  const begin = () => {
    const file = { client, wanted, path, what: 'Cannot write the export to', command }
    const screen = { write: (text: string) => (stderr += text), draw() {} }
    return followExport(file, screen, controller.signal)
  }
  return {
    folder,
    path,
    writes,
    begin,
    stderr: () => stderr,
    text: () => readFile(path, 'utf8').catch(() => ''),
    stop: () => controller.abort('SIGTERM'),
  }
}

async function clientOf(service: Pick<TestService, 'url' | 'bearer'>) {
  const endpoint = parseEndpoint(service.url)
  assert.ok(endpoint)
  const token = (await service.bearer()).replace('Bearer ', '')
  return new Client(endpoint, tokenCredential(token), true)
}

function contextFor(t: TestContext) {
  const opened = new OpenedBooks()
  t.after(() => opened.letGo())
  return { environment: {}, screen: { write() {}, draw() {} }, opened }
}

describe('connbook export --follow', () => {
  it('writes the file, and again after a change of what is in it', async (t) => {
    const { service, ask } = await openServer(t, [web1, db1])
    const followed = await follow(t, await clientOf(service), { ...asCsv, query: 'label=env=prod' })
    const ended = followed.begin()
    await eventually('it is written', () => followed.writes.length === 1)
    assert.equal(
      await followed.text(),
      'name,hostname,port,username,labels\r\ndb1,db1.example,5432,app,env=prod;group=db\r\n',
    )
    const { ino } = await stat(followed.path)
    await ask('PATCH', '/configurations/web1', { body: { port: 23 } })
    await eventually('the change is seen', () => followed.writes.length === 2)
    assert.equal((await stat(followed.path)).ino, ino)
    await ask('PATCH', '/configurations/db1', { body: { port: 1 } })
    await eventually('it is written again', () => followed.writes.length === 3)
    assert.match(await followed.text(), /\ndb1,db1.example,1,/)
    assert.deepEqual(followed.writes, [true, false, true])
    followed.stop()
    await ended
    assert.equal(followed.stderr(), `Exported from ${service.url} as csv; it is kept fresh\n`)
    assert.deepEqual(await readdir(followed.folder), ['out'])
  })

  it('writes nothing at the start if the file is as it should be', async (t) => {
    const { service } = await openServer(t, [web1])
    const followed = await follow(t, await clientOf(service))
    await writeFile(followed.path, 'name,hostname,port,username\r\nweb1,192.0.2.10,22,deploy\r\n')
    const ended = followed.begin()
    await eventually('it is fresh', () => followed.writes.length === 1)
    followed.stop()
    await ended
    assert.deepEqual(followed.writes, [false])
  })

  it('sees the change of a hop that the filters do not keep', async (t) => {
    const labels = { 'ssh.proxyjump': 'db1' }
    const { service, ask } = await openServer(t, [db1, { ...web1, labels }])
    const wanted = { format: 'ssh-config', skip: false, query: 'prefix=web' } as const
    const followed = await follow(t, await clientOf(service), wanted)
    const ended = followed.begin()
    await eventually('it is written', () => followed.writes.length === 1)
    assert.match(await followed.text(), /ProxyJump app@db1.example:5432\n/)
    await ask('PATCH', '/configurations/db1', { body: { hostname: 'db2.example' } })
    await eventually('it is written again', () => followed.writes.length === 2)
    assert.match(await followed.text(), /ProxyJump app@db2.example:5432\n/)
    followed.stop()
    await ended
  })

  it('keeps the file while a record cannot be expressed, and says so once', async (t) => {
    const { service, ask } = await openServer(t, [web1])
    const wanted = { format: 'ssh-config', skip: false, query: '' } as const
    const followed = await follow(t, await clientOf(service), wanted)
    const ended = followed.begin()
    await eventually('it is written', () => followed.writes.length === 1)
    const before = await followed.text()
    await ask('POST', '/configurations/', { body: spaced })
    await eventually('it is said', () => followed.stderr().includes('"a b"'))
    await ask('PATCH', '/configurations/web1', { body: { port: 23 } })
    await ask('DELETE', '/configurations/a%20b')
    await eventually('it is written again', () => followed.writes.length === 2)
    assert.equal(await followed.text(), before.replace('Port 22', 'Port 23'))
    followed.stop()
    await ended
    assert.match(
      followed.stderr(),
      /^[^\n]+ kept fresh\nconnbook: Cannot export 1 of 2 records as ssh-config:\n {2}"a b" has [^\n]+\nNothing was written[^\n]+\nconnbook: "[^"]+" is fresh again\n$/,
    )
  })

  it('names what it leaves out once, and again when that is something else', async (t) => {
    const { service, ask } = await openServer(t, [web1, spaced])
    const wanted = { format: 'ssh-config', skip: true, query: '' } as const
    const followed = await follow(t, await clientOf(service), wanted)
    const ended = followed.begin()
    for (const port of [1, 2, 3]) {
      await ask('PATCH', '/configurations/web1', { body: { port } })
      await eventually('it is written', async () => (await followed.text()).includes(`Port ${port}\n`))
    }
    await ask('POST', '/configurations/', { body: { ...spaced, name: 'c d' } })
    await eventually('it is said', () => followed.stderr().includes('"c d"'))
    followed.stop()
    await ended
    assert.equal(followed.stderr().match(/"a b"/g)?.length, 2)
  })

  it('says once that the server is away, and goes on when it is back', async (t) => {
    const folder = await usedFolder(t)
    const place = ['--host', '127.0.0.1', '--port', String(await freePort())]
    const before = await start(t, { folder, place })
    const followed = await follow(t, await clientOf(before))
    const ended = followed.begin()
    await eventually('it is written', () => followed.writes.length === 1)
    await before.stop()
    await eventually('it is said', () => followed.stderr().includes('tried again'))
    const after = await start(t, { folder, place })
    const headers = { Authorization: await after.bearer() }
    await after.call('/configurations/', { method: 'POST', headers, body: JSON.stringify(web1) })
    await eventually('it is written again', async () => (await followed.text()).includes('web1'))
    followed.stop()
    await ended
    assert.match(
      followed.stderr(),
      /^[^\n]+ kept fresh\nconnbook: [^\n]+; it is tried again\nconnbook: "[^"]+" is fresh again\n$/,
    )
  })

  it("asks the folder's server by the owner's socket, also one that is yet to start", async (t) => {
    const folder = await usedFolder(t)
    const { options, given } = parseCommandLine(['--data', folder], {}, clientFlags)
    const client = await connect({ options, given }, contextFor(t), 'export', { isServerOnly: true })
    const followed = await follow(t, client)
    const ended = followed.begin()
    await eventually('it is said', () => followed.stderr().includes('tried again'))
    for (const name of ['web1', 'web2']) {
      const service = await start(t, { folder })
      const headers = { Authorization: await service.bearer() }
      const body = JSON.stringify({ ...web1, name })
      await service.call('/configurations/', { method: 'POST', headers, body })
      await eventually('it is written', async () => (await followed.text()).includes(name))
      await service.stop()
    }
    followed.stop()
    await ended
    assert.match(
      followed.stderr(),
      /^connbook: Cannot call the server of "[^"]+": no server has made its socket/,
    )
  })

  it('waits for a server whose folder is not there yet', async (t) => {
    const folder = join(await temporaryFolder(t), 'data')
    const { options, given } = parseCommandLine(['--data', folder], {}, clientFlags)
    const client = await connect({ options, given }, contextFor(t), 'export', { isServerOnly: true })
    const followed = await follow(t, client)
    const ended = followed.begin()
    await eventually('it is said', () => followed.stderr().includes('tried again'))
    await start(t, { folder })
    await eventually('it is written', () => followed.writes.length === 1)
    followed.stop()
    await ended
    assert.match(
      followed.stderr(),
      /^connbook: Cannot call [^\n]+; it is tried again\nExported from [^\n]+ as csv; it is kept fresh\n$/,
    )
  })

  it('puts the file back after it, or its folder, has gone or was changed', async (t) => {
    const { service } = await openServer(t, [web1])
    const followed = await follow(t, await clientOf(service))
    const ended = followed.begin()
    const isThere = async () => /^name,.*\r\nweb1,.*\r\n$/.test(await followed.text())
    await eventually('it is there', isThere)
    await unlink(followed.path)
    await eventually('it is back', isThere)
    await writeFile(followed.path, 'other')
    await eventually('it is right again', isThere)
    await rename(followed.folder, `${followed.folder} away`)
    await eventually('it is said', () => followed.stderr().includes('ENOENT'))
    await mkdir(followed.folder)
    await eventually('it is back in the new folder', isThere)
    followed.stop()
    await ended
    assert.equal(followed.stderr().match(/ENOENT/g)?.length, 1)
    assert.match(followed.stderr(), /is fresh again\n$/)
  })

  it('removes what a killed one has left beside the file, and nothing else', async (t) => {
    const { service } = await openServer(t, [web1])
    const followed = await follow(t, await clientOf(service))
    const others = ['.other.0123456789ab.tmp', '.out.swp', 'out.tmp']
    for (const name of ['.out.0123456789ab.tmp', ...others]) await writeFile(join(followed.folder, name), 'x')
    const ended = followed.begin()
    await eventually('it is written', () => followed.writes.length === 1)
    followed.stop()
    await ended
    assert.deepEqual((await readdir(followed.folder)).sort(), [...others, 'out'].sort())
  })

  it('replaces what a link points to', async (t) => {
    const { service } = await openServer(t, [web1])
    const followed = await follow(t, await clientOf(service))
    const target = join(await temporaryFolder(t), 'target')
    await writeFile(target, '')
    await symlink(target, followed.path)
    const ended = followed.begin()
    await eventually('it is written', () => followed.writes.length === 1)
    followed.stop()
    await ended
    assert.match(await readFile(target, 'utf8'), /\nweb1,/)
    assert.deepEqual(await readdir(followed.folder), ['out'])
  })

  it('ends with exit code 5 when the credential has ended', async (t) => {
    let calls = 0
    const url = await serveOther(t, (request, response) => {
      calls += 1
      if (calls > 2)
        response.writeHead(403).end(JSON.stringify(problemOf(403, 'invalid_token', 'The token is not valid')))
      else if (request.url?.startsWith('/v1/export?format=csv'))
        response.writeHead(200, { 'Content-Type': 'text/csv', ETag: '"1"' }).end('name\n')
      else response.writeHead(200, { ETag: '"1"' }).end('{"configurations":[]}')
    })
    const { run } = await openHome(t, { CONNBOOK_SERVER: url, CONNBOOK_TOKEN: 'x' })
    const file = join(await temporaryFolder(t), 'out')
    const { code, stderr } = await run(['export', '--format', 'csv', '--output', file, '--follow'])
    assert.deepEqual(
      [code, stderr],
      [5, `Exported from ${url} as csv; it is kept fresh\nconnbook: The token is not valid\n`],
    )
    assert.equal(await readFile(file, 'utf8'), 'name\n')
  })

  it('asks again without a break of a server that does not wait', async (t) => {
    skipPauses(t, NEXT_WAIT_MS, GATHER_MS)
    let [lists, exports] = [0, 0]
    const url = await serveOther(t, (request, response) => {
      if (request.url?.startsWith('/v1/export?')) {
        exports += 1
        return response.writeHead(200, { 'Content-Type': 'text/csv', ETag: '"1"' }).end('name\n')
      }
      lists += 1
      if (lists === 1) return response.writeHead(200, { ETag: '"1"' }).end('{"configurations":[]}')
      if (lists === 5) return response.writeHead(403).end('{}')
      assert.deepEqual([request.headers['if-none-match'], request.headers.prefer], ['"1"', 'wait=20'])
      return response.writeHead(304, { ETag: '"1"' }).end()
    })
    const { run } = await openHome(t, { CONNBOOK_SERVER: url, CONNBOOK_TOKEN: 'x' })
    const file = join(await temporaryFolder(t), 'out')
    assert.equal((await run(['export', '--format', 'csv', '--output', file, '--follow'])).code, 5)
    assert.deepEqual([lists, exports], [5, 1])
  })

  it('cannot follow a list without a tag', async (t) => {
    const url = await serveOther(t, (_, response) => response.end('{"configurations":[]}'))
    const { run } = await openHome(t, { CONNBOOK_SERVER: url, CONNBOOK_TOKEN: 'x' })
    const file = join(await temporaryFolder(t), 'out')
    const { code, stderr } = await run(['export', '--format', 'csv', '--output', file, '--follow'])
    assert.deepEqual([code, stderr], [1, 'connbook: The list has no ETag; does a proxy remove it?\n'])
  })

  it('does not begin with flags that say no file to keep', async (t) => {
    const { run, service } = await openServer(t)
    const file = join(await temporaryFolder(t), 'out')
    for (const [words, message] of [
      [['--follow'], /--follow keeps a file: give --output FILE/],
      [['--follow', '--output', '-'], /give --output FILE/],
      [['--follow', '--output', '/dev/null'], /give --output FILE/],
      [['--run', 'true'], /Give --run with --follow/],
      [['--run', 'true', '--output', file], /Give --run with --follow/],
      [['--run', ' ', '--output', file, '--follow'], /it must be a command/],
      [['--follow', '--output', file, '--port', 'x'], /port must/],
    ] as const) {
      const { code, stderr } = await run(['export', '--format', 'csv', ...words])
      assert.equal(code, 2, stderr)
      assert.match(stderr, message)
    }
    const inside = ['--follow', '--output', join(service.folder.path, 'new'), '--data', service.folder.path]
    const { code, stderr } = await run(['export', '--format', 'csv', ...inside])
    assert.deepEqual([code, stderr.includes('in the data folder itself')], [1, true])
    await rm(file, { force: true })
  })
})
