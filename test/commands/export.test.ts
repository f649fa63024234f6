import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { chmod, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { getToken } from '../support/api.ts'
import { runCommand } from '../support/command.ts'
import { createClient } from '../support/http-client.ts'
import { client, start } from '../support/service.ts'
import { draft } from '../support/store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { makeUsedFolder } from './kept-state.ts'
import { photographBook } from './photograph.ts'

const { folder, current } = await makeUsedFolder({ after })

function runExport(args: readonly string[], data = folder, outputError?: 'ENOSPC' | 'EPIPE') {
  return runCommand(['export', ...args, '--data', data], { outputError })
}

describe('connbook export', () => {
  it('writes all records to standard output, and changes nothing', async () => {
    const before = await photographBook(folder)
    const { code, stdout, stderr } = await runExport(['--format', 'json'])
    assert.deepEqual([code, stderr], [0, ''])
    assert.deepEqual(JSON.parse(stdout), { configurations: current.records })
    assert.deepEqual(await photographBook(folder), before)
  })

  it('says where the records are from only if standard error is a terminal', async () => {
    const { code, stderr } = await runCommand(['export', '--format', 'json', '--data', folder], {
      isScreenTerminal: true,
    })
    assert.deepEqual([code, stderr], [0, `Exported from ${folder} as json\n`])
  })

  it('writes beside a running server the same text as the server exports', async (t) => {
    const service = await start(t)
    const ask = createClient(service.url, await getToken(service.url, client))
    for (const name of ['web1', 'db/main']) await ask('POST', '/configurations/', { body: draft(name) })
    for (const format of ['json', 'csv', 'ssh-config', 'ansible', 'pg-service', 'env']) {
      const { code, stdout, stderr } = await runExport(['--format', format], service.folder.path)
      assert.deepEqual([code, stderr], [0, ''])
      assert.equal(stdout, (await ask('GET', `/v1/export?format=${format}`)).text)
    }
  })

  it('warns of groups that ansible cannot have, and keeps their hosts, here and from a server', async (t) => {
    const service = await start(t)
    const authorization = await getToken(service.url, client)
    const ask = createClient(service.url, authorization)
    const labels = { group: 'k3s-cluster,ungrouped,_meta' }
    await ask('POST', '/configurations/', { body: { ...draft('web1'), labels } })
    const warning =
      'connbook: Left out groups that ansible cannot have: "ungrouped", "_meta"; their hosts are in the export\n'
    const here = await runExport(['--format', 'ansible'], service.folder.path)
    const there = await runCommand(['export', '--format', 'ansible', '--server', service.url], {
      environment: { CONNBOOK_TOKEN: authorization.Authorization.replace('Bearer ', '') },
    })
    for (const { code, stdout, stderr } of [here, there]) {
      assert.equal(code, 0, stderr)
      assert.ok(stderr.startsWith(warning), stderr)
      assert.match(stdout, /\n {4}"k3s-cluster":\n {6}hosts:\n {8}"web1": \{\}\n$/)
    }
    const { headers } = await ask('GET', '/v1/export?format=ansible')
    assert.deepEqual([headers['x-left-out'], headers['x-left-out-groups']], ['0', 'ungrouped,_meta'])
  })

  it('replaces the file of --output as a whole, and keeps its mode', async (t) => {
    const place = await temporaryFolder(t)
    const [file, link] = [join(place, 'hosts.json'), join(place, 'link')]
    const text = (await runExport(['--format', 'json'])).stdout
    assert.deepEqual(await runExport(['--format', 'json', '--output', file]), {
      code: 0,
      stdout: '',
      stderr: '',
    })
    assert.equal(await readFile(file, 'utf8'), text)
    assert.equal((await stat(file)).mode & 0o777, 0o600)
    await writeFile(file, 'old')
    await chmod(file, 0o644)
    await symlink('hosts.json', link)
    assert.equal((await runExport(['--format', 'json', '--output', link])).code, 0)
    assert.equal(await readFile(file, 'utf8'), text)
    assert.equal((await stat(file)).mode & 0o777, 0o644)
    assert.deepEqual((await readdir(place)).sort(), ['hosts.json', 'link'])
    for (const output of ['-', '/dev/stdout'])
      assert.equal((await runExport(['--format', 'json', '--output', output])).stdout, text)
  })

  it('writes with --output to no folder that is missing, and no file for records that do not fit', async (t) => {
    const place = await temporaryFolder(t)
    const missing = join(place, 'none', 'x')
    const failed = await runExport(['--format', 'json', '--output', missing])
    assert.deepEqual([failed.code, failed.stdout], [1, ''])
    assert.match(
      failed.stderr,
      /^connbook: Cannot write the export to "[^"]+" \(ENOENT\); .*make its folder first\n$/,
    )
    const refused = await runExport(['--format', 'ssh-config', '--output', join(place, 'x')])
    assert.equal(refused.code, 1)
    assert.deepEqual(await readdir(place), [])
  })

  it('writes nothing, and names every record that the format cannot express', async () => {
    const { code, stdout, stderr } = await runExport(['--format', 'ssh-config'])
    assert.deepEqual([code, stdout], [1, ''])
    const [first, ...rest] = stderr.trimEnd().split('\n')
    assert.equal(first, 'connbook: Cannot export 8 of 8 records as ssh-config:')
    assert.equal(rest.length, 8 + 1)
    assert.match(rest[0] ?? '', /^ {2}"kept 2" has a name with a space/)
    assert.equal(rest.at(-1), 'Nothing was written; rename or change them, or leave them out with --skip')
  })

  it('leaves such records out with --skip, and still names them', async () => {
    const { code, stdout, stderr } = await runExport(['--format', 'ssh-config', '--skip'])
    assert.deepEqual([code, stdout], [0, ''])
    assert.match(stderr, /^connbook: Left out 8 of 8 records as ssh-config:\n {2}"kept 2" has/)
  })

  it('escapes the control characters of a name before it reaches the terminal', async (t) => {
    const service = await start(t)
    const ask = createClient(service.url, await getToken(service.url, client))
    await ask('POST', '/configurations/', { body: draft('a b\u202e\u2028c') })
    await service.stop()
    const { stderr } = await runExport(['--format', 'ssh-config'], service.folder.path)
    assert.ok(stderr.includes('"a b\\u202e\\u2028c"'), stderr)
  })

  const bad: Record<string, readonly string[]> = {
    'without a format': [],
    'with an extra word': ['--format', 'csv', 'x'],
  }
  for (const [what, args] of Object.entries(bad)) {
    it(`is wrong usage ${what}`, async () => {
      const { code, stdout, stderr } = await runExport(args)
      assert.deepEqual([code, stdout], [2, ''])
      assert.match(stderr, /^connbook: Write it as: connbook export --format FORMAT, one of json, jsonl, csv/)
    })
  }

  it('creates no folder for a mistyped path', async (t) => {
    const data = join(await temporaryFolder(t), 'absent')
    const { code, stderr } = await runExport(['--format', 'csv'], data)
    assert.equal(code, 1)
    assert.match(stderr, /Cannot find anything of connbook in/)
  })

  it('fails when standard output is full, and ends in silence when its reader leaves, as `head` does', async () => {
    const { code, stderr } = await runExport(['--format', 'csv'], folder, 'ENOSPC')
    assert.equal(code, 1)
    assert.match(stderr, /^connbook: Cannot write the export to standard output \(ENOSPC\)/)
    const left = await runExport(['--format', 'csv'], folder, 'EPIPE')
    assert.deepEqual([left.code, left.stderr], [0, ''])
  })
})
