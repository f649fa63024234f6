import '../../support/node-version.ts'
import '../../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { widthOf } from '../../../src/command-line/columns.ts'
import { db1, hostName, openHome, openServer, openServerOfHosts, web1 } from './client-home.ts'
import { problemOf, serveJson, serveOther } from './other-server.ts'

/** A record whose texts turn the direction of what follows, or control a terminal. */
const turned = { name: 'a\u202eb', hostname: 'h', port: 1, username: 'u\u200f', labels: { env: '\u2066x' } }

describe('connbook ls', () => {
  it('prints tab-separated lines without a heading in a pipe, and a table on a terminal', async (t) => {
    const { run, see } = await openServer(t, [web1, db1])
    assert.deepEqual(await run(['ls']), {
      code: 0,
      stdout: 'web1\t192.0.2.10\t22\tdeploy\ndb1\tdb1.example\t5432\tapp\tenv=prod;group=db\n',
      stderr: '',
    })
    assert.deepEqual((await see(['ls'], { environment: { NO_COLOR: '1' } })).stdout.split('\n'), [
      'NAME  HOSTNAME     PORT  USERNAME  LABELS',
      'web1  192.0.2.10   22    deploy',
      'db1   db1.example  5432  app       env=prod;group=db',
      '',
    ])
  })

  it('passes JSON on as the server exports it, byte for byte, also where a record looks like several', async (t) => {
    const texts = [',{"id":', '},{"id":2', 'a,{id:', '\u202e', 'ü 漢 🙂', '\\']
    const odd = texts.map((text) => ({
      ...{ ...web1, name: `odd ${text}` },
      labels: { id: text, name: 'x},{' },
    }))
    const { run } = await openServer(t, [web1, ...odd, db1])
    const { stdout } = await run(['ls', '--json'])
    assert.equal(stdout, (await run(['export', '--format', 'jsonl'])).stdout)
    const names = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).name)
    assert.deepEqual(names.toSorted(), [web1, ...odd, db1].map(({ name }) => name).toSorted())
  })

  it('passes JSON on while it comes, and reports an answer that breaks off', async (t) => {
    const line = `${JSON.stringify({ id: 1, ...web1 })}\n`
    const { promise: shown, resolve: show } = Promise.withResolvers<void>()
    const url = await serveOther(t, async (_, response) => {
      const type = 'application/x-ndjson; charset=utf-8'
      response.writeHead(200, { 'Content-Type': type, 'Content-Length': 2 * line.length })
      response.write(line)
      await shown
      response.destroy()
    })
    const { run } = await openHome(t, { CONNBOOK_SERVER: url })
    const { code, stdout, stderr } = await run(['ls', '--json'], { onOutput: () => show() })
    assert.deepEqual([code, stdout], [6, line])
    assert.match(stderr, /^connbook: .* did not finish its answer/)
  })

  it('reports what is no export of a connbook, and a refusal', async (t) => {
    const other = await serveJson(t, 200, { configurations: [] })
    const refusing = await serveJson(t, 403, problemOf(403, 'forbidden', 'Not you'))
    const { run } = await openHome(t)
    assert.equal((await run(['ls', '--json', '--server', other])).code, 1)
    const { code, stderr } = await run(['ls', '--json', '--server', refusing])
    assert.deepEqual([code, stderr], [5, 'connbook: Not you\n'])
  })

  it('prints a record a line as JSON, or names alone, but not both', async (t) => {
    const { run } = await openServer(t, [web1, db1])
    const { stdout } = await run(['ls', '--json'])
    assert.deepEqual(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),
      [
        { id: 1, ...web1 },
        { id: 2, ...db1 },
      ],
    )
    assert.equal((await run(['ls', '--names'])).stdout, 'web1\ndb1\n')
    const both = await run(['ls', '--names', '--json'])
    assert.deepEqual([both.code, both.stderr], [2, 'connbook: Give --json or --names, not both\n'])
    for (const flags of [
      ['--columns', 'name', '--json'],
      ['--columns', 'name', '--names'],
      ['--columns', 'name', '--count'],
      ['--count', '--names', '--json'],
      ['--limit', '0'],
      ['--columns', 'nam'],
    ])
      assert.equal((await run(['ls', ...flags])).code, 2, flags.join(' '))
  })

  it('prints the columns that are asked for', async (t) => {
    const { run, see } = await openServer(t, [web1, db1])
    const flags = ['ls', '--columns', 'label.env,name,labels,labels.none,id']
    assert.deepEqual(await run(flags), {
      code: 0,
      stdout: '\tweb1\t\t\t1\nprod\tdb1\tenv=prod;group=db\t\t2\n',
      stderr: '',
    })
    assert.deepEqual((await see(flags, { environment: { NO_COLOR: '1' } })).stdout.split('\n'), [
      'LABEL.ENV  NAME  LABELS             LABELS.NONE  ID',
      '           web1                                  1',
      'prod       db1   env=prod;group=db               2',
      '',
    ])
  })

  it('counts the records that are kept, whatever the limit', async (t) => {
    const { run } = await openServer(t, [web1, db1, { ...web1, name: 'web2' }])
    const count = async (...args: string[]) => (await run(['ls', '--count', ...args])).stdout
    assert.equal(await count(), '3\n')
    assert.equal(await count('--limit', '1'), '3\n')
    assert.equal(await count('web'), '2\n')
    assert.equal(await count('--where', 'label=env=prod&sort=name'), '1\n')
    assert.equal(await count('--prefix', 'x'), '0\n')
    const other = await serveJson(t, 200, { configurations: [] })
    const { code, stderr } = await run(['ls', '--count'], { environment: { CONNBOOK_SERVER: other } })
    assert.deepEqual([code, /does not say how many records/.test(stderr)], [1, true])
  })

  it('prints only the first records, in each form', async (t) => {
    const { run, see } = await openServerOfHosts(t, 250)
    for (const limit of [1, 99, 100, 101, 249, 250, 251]) {
      const flags = ['--sort', '-name', '--limit', String(limit)]
      const names = Array.from({ length: Math.min(limit, 250) }, (_, i) => hostName(249 - i))
      for (const form of [[], ['--names'], ['--json'], ['--columns', 'name']]) {
        const lines = (await run(['ls', ...flags, ...form])).stdout.trimEnd().split('\n')
        assert.deepEqual(
          lines.map((line) => /host-\d+/.exec(line)?.[0]),
          names,
        )
      }
      const { stdout } = await see(['ls', ...flags], { environment: { NO_COLOR: '1' } })
      assert.equal(stdout.trimEnd().split('\n').length, names.length + 1)
    }
  })

  it('cuts lines where the terminal ends, and in a pipe nowhere', async (t) => {
    const long = { ...web1, labels: { env: 'é'.repeat(80), note: '漢'.repeat(20) } }
    const { run, see } = await openServer(t, [long, db1])
    const environment = { NO_COLOR: '1' }
    const whole = (await see(['ls'], { environment })).stdout
    assert.match(whole, /漢{20}\n/)
    for (const columns of [20, 60, 61, 62, 63, 150, 200]) {
      const lines = (await see(['ls'], { environment, columns })).stdout.trimEnd().split('\n')
      for (const [i, line] of lines.entries()) {
        const full = whole.split('\n')[i] ?? ''
        assert.ok(widthOf(line) <= columns, line)
        if (line !== full) assert.ok(line.endsWith('…') && full.startsWith(line.slice(0, -1)), line)
      }
    }
    assert.equal(
      (await see(['ls'], { environment, columns: 50 })).stdout.split('\n')[2],
      'db1   db1.example  5432  app       env=prod;group…',
    )
    assert.match((await see(['ls', '--names'], { environment, columns: 2 })).stdout, /^web1\n/)
    assert.match((await run(['ls'], { columns: 20 })).stdout, /漢{20}\n/)
  })

  it('keeps and orders what text and flags say', async (t) => {
    const app = { ...web1, name: 'app & co', labels: { env: 'prod' } }
    const { run } = await openServer(t, [web1, db1, app])
    const names = async (...args: string[]) => (await run(['ls', '--names', ...args])).stdout
    assert.equal(await names('eb'), 'web1\n')
    assert.equal(await names('--sort', 'name'), 'app & co\ndb1\nweb1\n')
    assert.equal(await names('--prefix', 'app & '), 'app & co\n')
    assert.equal(await names('--name', 'db1'), 'db1\n')
    assert.equal(await names('--hostname', 'db1.example'), 'db1\n')
    assert.equal(await names('--port', '5432'), 'db1\n')
    assert.equal(await names('--username', 'deploy'), 'web1\napp & co\n')
    assert.equal(await names('--label', 'env=prod'), 'db1\napp & co\n')
    assert.equal(await names('--label', 'env', '--label', 'group=db'), 'db1\n')
    assert.equal(await names('--label', 'env=prod', '--label', 'env=test', '--label', '!group'), 'app & co\n')
    assert.equal(await names('--label', 'env!=prod'), 'web1\n')
    assert.equal(await names('prod', 'DB1'), 'db1\n')
    assert.equal(await names('prod 22', 'app'), '')
  })

  it('names what is not valid by what was typed', async (t) => {
    const { run } = await openServer(t)
    const port = await run(['ls', '--port', 'x'])
    assert.equal(port.code, 2)
    assert.match(port.stderr, /^connbook: [^\n]+\n {2}--port must be [^\n]+\n$/)
    const label = await run(['ls', '--label', 'A'])
    assert.equal(label.code, 2)
    assert.match(label.stderr, /^connbook: [^\n]+\n {2}--label [^\n]+\n$/)
    const text = await run(['ls', 'x'.repeat(2000)])
    assert.equal(text.code, 2)
    assert.match(text.stderr, /^connbook: [^\n]+\n {2}TEXT must [^\n]+\n$/)
  })

  it('says on a terminal that there are no records', async (t) => {
    const { run, see } = await openServer(t)
    assert.deepEqual(await see(['ls']), { code: 0, stdout: '', stderr: 'No records\n' })
    assert.deepEqual(await run(['ls']), { code: 0, stdout: '', stderr: '' })
  })

  it('takes a closed pager for success, and a full disk for a failure', async (t) => {
    const { run, see } = await openServer(t, [web1])
    assert.deepEqual(await run(['ls'], { outputError: 'EPIPE' }), { code: 0, stdout: '', stderr: '' })
    assert.equal((await see(['ls'], { outputError: 'EPIPE' })).code, 0)
    const full = await run(['ls'], { outputError: 'ENOSPC' })
    assert.deepEqual([full.code, full.stderr], [1, 'connbook: Cannot write to standard output (ENOSPC)\n'])
  })

  it('escapes on a terminal what turns the direction of text, and not in a pipe', async (t) => {
    const { run, see } = await openServer(t, [turned])
    assert.equal((await run(['ls'])).stdout, 'a\u202eb\th\t1\tu\u200f\tenv=\u2066x\n')
    assert.equal((await run(['ls', '--names'])).stdout, 'a\u202eb\n')
    for (const args of [['ls'], ['ls', '--json'], ['ls', '--names']]) {
      const { stdout } = await see(args, { environment: { NO_COLOR: '1' } })
      assert.match(stdout, /a\\u202eb/)
      assert.doesNotMatch(stdout, /[\p{Cf}]/u)
    }
  })

  it('escapes on a terminal the line ends and control characters that only another server sends', async (t) => {
    const record = { id: 1, ...web1, name: 'a\n\u001b[2J\tb\u009b', labels: { env: '\r' } }
    const url = await serveJson(t, 200, { configurations: [record] })
    const { run, see } = await openHome(t, { CONNBOOK_SERVER: url, NO_COLOR: '1' })
    assert.match(
      (await see(['ls'])).stdout,
      /^NAME [^\n]*\na\\u000a\\u001b\[2J\\u0009b\\u009b [^\n]*\\u000d\n$/,
    )
    for (const args of [
      ['ls', '--names'],
      ['ls', '--json'],
    ])
      assert.match((await see(args)).stdout, /^[\x20-\x7e]+\n$/)
    assert.equal((await run(['ls', '--names'])).stdout, `${record.name}\n`)
  })
})
