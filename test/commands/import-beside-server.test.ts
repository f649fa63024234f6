import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { chmod, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { gzipSync } from 'node:zlib'
import { ownerSocketPath } from '../../src/files/data-folder.ts'
import { openDataFolder } from '../../src/files/owned-folder.ts'
import { IMPORT_BYTES_MAX, IMPORT_NAMES_LISTED_MAX } from '../../src/limits.ts'
import { systemAccount } from '../../src/system-account.ts'
import { runCommand } from '../support/command.ts'
import { createClient, namesIn } from '../support/http-client.ts'
import { hurryClock } from '../support/hurried-clock.ts'
import { start, usedFolder } from '../support/service.ts'
import { skipPauses } from '../support/skipped-pauses.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const HEADER = 'name,hostname,port,username\n'
const csv = `${HEADER}a,a.example,22,ops\nb,b.example,22,ops\n`

async function writeFileIn(t: TestContext, name: string, text: string | Uint8Array) {
  const file = join(await temporaryFolder(t), name)
  await writeFile(file, text)
  return file
}

function runImport(folder: string, args: readonly string[], input: string | Uint8Array = '') {
  return runCommand(['import', ...args, '--data', folder], { input })
}

/** A running server with the records `a` and `b`. */
async function setUp(t: TestContext) {
  const service = await start(t)
  const folder = service.folder.path
  const ask = createClient(service.url, { Authorization: await service.bearer() })
  const names = async () => namesIn(await ask('GET', '/configurations/?sort=name&page=0&per_page=100'))
  const { code, stderr } = await runImport(folder, ['-', '--format', 'csv'], csv)
  assert.equal(code, 0, stderr)
  return { service, folder, ask, names }
}

/** A folder that is in use by a process which answers on the owner's socket as given. */
async function inUseBy(t: TestContext, answer: RequestListener) {
  const folder = await usedFolder(t)
  const held = await openDataFolder(folder)
  t.after(() => held.release())
  const server = createServer(answer).on('checkContinue', answer).listen(ownerSocketPath(folder))
  t.after(() => void server.close())
  await once(server, 'listening')
  return folder
}

describe('connbook import beside a running server', () => {
  it('prints what it prints without a server', async (t) => {
    const { service, folder, names } = await setUp(t)
    assert.deepEqual(await names(), ['a', 'b'])
    const file = await writeFileIn(t, 'ssh_config', 'Host b c\u202e\n  HostName x.example\n  User ops\n')
    const runs = [
      [file, '--dry-run'],
      [file, '--dry-run', '--mode', 'replace'],
      [file],
      [file, '--mode', 'replace'],
      [file, '--mode', 'replace'],
    ]
    const beside = []
    for (const args of runs) beside.push(await runImport(folder, args))
    assert.deepEqual(await names(), ['b', 'c\u202e'])
    await service.stop()

    const other = await start(t)
    await other.stop()
    const alone = []
    const path = other.folder.path
    await runImport(path, ['-', '--format', 'csv'], csv)
    for (const args of runs) alone.push(await runImport(path, args))
    const moved = alone.map((finished) => ({ ...finished, stderr: finished.stderr.replace(path, folder) }))
    assert.deepEqual(beside, moved)
    assert.match(
      beside[1]?.stdout ?? '',
      /^(?:Read as .*\n(?: {2}.* becomes .*\n)*)?Would add 1, modify 1, remove 1; 0 unchanged\n {2}add "c\\u202e"\n/,
    )
    assert.match(beside[3]?.stderr ?? '', /: 0 added, 0 modified, 1 removed, 2 unchanged\n$/)
  })

  it('sends unpacked what is packed', async (t) => {
    const { folder, names } = await setUp(t)
    const file = await writeFileIn(t, 'more.csv.gz', gzipSync(`${HEADER}c,c,1,c\n`))
    const { code, stderr } = await runImport(folder, [file])
    assert.equal(code, 0, stderr)
    assert.deepEqual(await names(), ['a', 'b', 'c'])
  })

  it('sends what its flags say of the columns', async (t) => {
    const { folder, names } = await setUp(t)
    const input = 'Title;IP;Kind\nc;h.example;SSH\nd;h.example;RDP\n'
    const flags = ['--only', 'kind=SSH', '--default', 'port=22', '--default', 'username=a=b']
    const { code, stderr } = await runImport(folder, ['-', '--format', 'csv', ...flags], input)
    assert.equal(code, 0, stderr)
    assert.deepEqual(await names(), ['a', 'b', 'c'])
  })

  it('lists the first names of each kind in a dry run', async (t) => {
    const { folder, names } = await setUp(t)
    const rows = Array.from({ length: IMPORT_NAMES_LISTED_MAX + 2 }, (_, i) => `n${i},h,22,ops\n`).join('')
    const { stdout } = await runImport(folder, ['-', '--format', 'csv', '--dry-run'], HEADER + rows)
    const lines = stdout.slice(stdout.indexOf('Would add')).trimEnd().split('\n')
    assert.equal(lines.length, 1 + IMPORT_NAMES_LISTED_MAX + 1)
    assert.deepEqual([lines[1], lines.at(-1)], ['  add "n0"', '  add 2 more'])
    assert.deepEqual(await names(), ['a', 'b'])
  })

  it('shows in the audit trail the command and the system account', async (t) => {
    const { service, folder } = await setUp(t)
    await service.stop()
    const lines = (await readFile(join(folder, 'audit.jsonl'), 'utf8')).trimEnd().split('\n')
    const made = lines
      .map((line) => JSON.parse(line))
      .filter(({ event }) => event.startsWith('configuration'))
    assert.deepEqual(
      made.map(({ event, command, by, address }) => [event, command, by, address]),
      ['configurations_imported', 'configuration_added', 'configuration_added'].map((event) => {
        return [event, 'import', systemAccount(), undefined]
      }),
    )
  })

  it('names every fault with its line, and sends nothing', async (t) => {
    const folder = await inUseBy(t, () => assert.fail('it was called'))
    const text = `${csv}x,,0,ops\n${',,0,\n'.repeat(100)}`
    const { code, stdout, stderr } = await runImport(folder, ['-', '--format', 'csv'], text)
    assert.deepEqual([code, stdout], [1, ''])
    assert.match(
      stderr,
      /^connbook: Cannot import -: 402 faults; nothing has changed; correct them, or leave these records out with --skip\n {2}line 4, "x": hostname must/,
    )
    assert.match(stderr, /\n {2}and 302 more\n$/)
  })

  it('is told of a file that is longer than a server takes', async (t) => {
    const { folder, names } = await setUp(t)
    const text = JSON.stringify([{ name: 'c', hostname: 'c', port: 1, username: 'c' }])
    const bytes = Buffer.concat([Buffer.alloc(IMPORT_BYTES_MAX, ' '), Buffer.from(text)])
    const { code, stderr } = await runImport(folder, ['-', '--format', 'json'], bytes)
    assert.equal(code, 1)
    assert.deepEqual(await names(), ['a', 'b'])
    assert.match(
      stderr,
      /^connbook: Cannot import -: it has more than 33554432 bytes, .*; nothing has changed\n$/,
    )
  })

  it('waits for another import to end', async (t) => {
    let calls = 0
    const folder = await inUseBy(t, async (request, response) => {
      calls += 1
      if (calls === 1)
        return void response.writeHead(503, { 'Retry-After': '0', Connection: 'close' }).end('{}')
      response.writeContinue()
      await request.toArray()
      response.end('{"added":2,"modified":0,"removed":0,"unchanged":0}')
    })
    const { code, stderr } = await runImport(folder, ['-', '--format', 'csv'], csv)
    assert.deepEqual([code, calls], [0, 2])
    assert.equal(stderr, `Imported to ${folder}: 2 added, 0 modified, 0 removed, 0 unchanged\n`)
  })

  const answers: Record<string, [status: number, body: string, message: string]> = {
    'a full disk': [507, '{"detail":"Cannot store the change: no room"}', 'Cannot store the change: no room'],
    'a broken disk': [503, '{"detail":"The disk failed"}', 'The disk failed'],
    'faults that only the server finds': [
      400,
      '{"detail":"Cannot import the records","errors":[{"line":2,"field":"a\\u001b","detail":"is new"},{}]}',
      'Cannot import the records\n  line 2: a\\u001b is new',
    ],
    'an answer of another program': [404, '<html>', 'FOLDER answers 404, and nothing that a connbook says'],
  }
  for (const [what, [status, body, message]] of Object.entries(answers)) {
    it(`reports ${what}`, async (t) => {
      const folder = await inUseBy(t, (_, response) => void response.writeHead(status).end(body))
      const { code, stdout, stderr } = await runImport(folder, ['-', '--format', 'csv'], csv)
      assert.deepEqual([code, stdout, stderr], [1, '', `connbook: ${message.replace('FOLDER', folder)}\n`])
    })
  }

  it('says that it does not know whether it is done when there is no answer', async (t) => {
    const folder = await inUseBy(t, (request) => void request.socket.destroy())
    const done = await runImport(folder, ['-', '--format', 'csv'], csv)
    assert.equal(done.code, 6)
    assert.match(
      done.stderr,
      /gave no answer \(ECONNRESET\); whether it has imported the file is not known; run the same command again\n$/,
    )
    const tried = await runImport(folder, ['-', '--format', 'csv', '--dry-run'], csv)
    assert.match(tried.stderr, /gave no answer \(ECONNRESET\)\n$/)
  })

  it('leaves the folder alone when the socket is stale, and says so', async (t) => {
    const folder = await inUseBy(t, () => assert.fail('it was called'))
    const path = ownerSocketPath(folder)
    const stale = createServer().listen(`${path}-2`)
    await once(stale, 'listening')
    await rename(`${path}-2`, path)
    await new Promise((resolve) => stale.close(resolve))
    hurryClock(t)
    const { code, stderr } = await runImport(folder, ['-', '--format', 'csv'], csv)
    assert.equal(code, 75)
    assert.match(
      stderr,
      /another process has it .*\nCannot connect to unix:.*\.control \(ECONNREFUSED\)\nif a server has/,
    )
  })

  it('does not follow a link to another socket', async (t) => {
    const { folder } = await setUp(t)
    const path = ownerSocketPath(folder)
    await rename(path, join(folder, 'elsewhere'))
    await symlink('elsewhere', path)
    hurryClock(t)
    const { code, stderr } = await runImport(folder, ['-', '--format', 'csv'], csv)
    assert.deepEqual([code, /\n\.control is not used: it is not a socket\n/.test(stderr)], [75, true])
    await rm(path)
    await rename(join(folder, 'elsewhere'), path)
  })

  it('does not use a folder that is open to others', async (t) => {
    const { folder, names } = await setUp(t)
    await chmod(folder, 0o755)
    const { code, stderr } = await runImport(
      folder,
      ['-', '--format', 'csv', '--mode', 'replace'],
      `${HEADER}c,c,1,c\n`,
    )
    assert.deepEqual([code, /others can get at it .* chmod 700/.test(stderr)], [1, true])
    assert.deepEqual(await names(), ['a', 'b'])
  })

  it('uses the server of the folder, not another one', async (t) => {
    const [one, other] = [await setUp(t), await setUp(t)]
    await runImport(one.folder, ['-', '--format', 'csv'], `${HEADER}c,c,1,c\n`)
    assert.deepEqual(
      [await one.names(), await other.names()],
      [
        ['a', 'b', 'c'],
        ['a', 'b'],
      ],
    )
  })

  it('imports while other changes go on', async (t) => {
    // The server asks the second and the third import to wait so long.
    skipPauses(t, 1_000)
    const { folder, ask, names } = await setUp(t)
    const body = (name: string) => ({ name, hostname: 'h', port: 1, username: 'u' })
    const writing = Array.from({ length: 30 }, (_, i) =>
      ask('POST', '/configurations/', { body: body(`w${i}`) }),
    )
    const importing = ['c', 'd', 'e'].map((name) =>
      runImport(folder, ['-', '--format', 'csv'], `${HEADER}${name},h,22,ops\n`),
    )
    assert.ok((await Promise.all(writing)).every(({ status }) => status === 200))
    assert.deepEqual(
      (await Promise.all(importing)).map(({ code }) => code),
      [0, 0, 0],
    )
    assert.equal((await names()).length, 2 + 30 + 3)
  })
})
