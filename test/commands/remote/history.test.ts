import '../../support/node-version.ts'
import '../../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openHome, openServer, web1 } from './client-home.ts'
import { serveJson } from './other-server.ts'

const TIME = String.raw`\d{4}-\d\d-\d\dT[\d:.]+Z`

describe('connbook history', () => {
  it('shows what happened to a record, newest first', async (t) => {
    const { run, see } = await openServer(t, [web1])
    await run(['set', 'web1', '--port', '23'])
    await run(['rm', 'web1'])
    const { code, stdout, stderr } = await run(['history', 'web1'])
    assert.deepEqual([code, stderr], [0, ''])
    const [removed, modified, added] = stdout.split('\n')
    assert.match(removed ?? '', new RegExp(`^${TIME}\tdeleted\tscript\t`))
    assert.match(modified ?? '', new RegExp(`^${TIME}\tmodified\tscript\t.*23`))
    assert.match(added ?? '', new RegExp(`^${TIME}\tadded\tscript\t.*192\\.0\\.2\\.10`))
    const seen = await see(['history', 'web1', '--limit', '1'], { environment: { NO_COLOR: '1' } })
    assert.match(seen.stdout, new RegExp(`^TIME +EVENT +BY +CHANGED\n${TIME}  deleted  script[^\n]*\n$`))
    assert.match(seen.stderr, new RegExp(`^Complete since ${TIME}\n$`))
  })

  it('prints each change as JSON', async (t) => {
    const { run } = await openServer(t, [web1])
    await run(['set', 'web1', '--port', '23'])
    const { stdout } = await run(['history', 'web1', '--json', '--limit', '1'])
    const { event, by, changed } = JSON.parse(stdout)
    assert.deepEqual([event, by], ['configuration_modified', 'script'])
    assert.deepEqual(Object.keys(changed), ['port'])
  })

  it('refuses a limit, and says that there is no such record', async (t) => {
    const { run } = await openServer(t)
    assert.equal((await run(['history', 'web1', '--limit', '0'])).code, 2)
    const { code, stderr } = await run(['history', 'web1'])
    assert.equal(code, 3)
    assert.match(stderr, /^connbook: [^\n]*"web1"[^\n]*\n$/)
  })

  it('says of any other answer that it is not a history', async (t) => {
    for (const body of [{}, { history: [{}] }, { history: [{ time: 1, event: [] }] }, { history: ['x'] }]) {
      const url = await serveJson(t, 200, body)
      const { run } = await openHome(t, { CONNBOOK_SERVER: url })
      const { code, stdout, stderr } = await run(['history', 'web1'])
      assert.deepEqual([code, stdout], [1, ''])
      assert.equal(stderr, `connbook: ${url} answers no history; is it an older connbook?\n`)
    }
  })

  it('escapes on a terminal what turns the direction of text', async (t) => {
    const { run, see } = await openServer(t, [{ ...web1, username: '\u202eeve' }])
    assert.match((await run(['history', 'web1'])).stdout, /\u202e/)
    for (const form of [[], ['--json']])
      assert.doesNotMatch((await see(['history', 'web1', ...form])).stdout, /\p{Cf}/u)
  })

  it('follows the pages to --since, and says what it leaves out', async (t) => {
    const { run, see, ask } = await openServer(t, [web1])
    const body = (port: number) => ({ body: { port } })
    for (let port = 1; port <= 1_040; port += 1) await ask('PATCH', '/configurations/web1', body(port + 22))
    const told = async (...flags: string[]) => {
      const { code, stdout, stderr } = await run(['history', ...flags])
      assert.equal(code, 0, stderr)
      const seen = await see(['history', '--json', ...flags])
      assert.equal(seen.stdout.split('\n').length, stdout.split('\n').length)
      assert.ok(seen.stderr.startsWith(`${stderr}Complete since `), seen.stderr)
      const ports = stdout
        .split('\n')
        .slice(0, -1)
        .map((line) => Number(/(\d+)\}/.exec(line)?.[1]))
      assert.deepEqual(
        ports,
        ports.toSorted((a, b) => b - a),
      )
      return [ports.length, stderr] as const
    }
    assert.deepEqual(await told('--since', '1d'), [1_041, ''])
    assert.deepEqual(await told('--since', '1d', '--by', 'script', '--where', 'name=web1'), [1_041, ''])
    assert.deepEqual(await told('--since', '1d', '--limit', '5'), [5, ''])
    const left = (count: number, way: string) =>
      `connbook: Only the newest ${count} changes are shown; for older ones, add ${way}\n`
    assert.deepEqual(await told(), [100, left(100, '--since TIME or --limit COUNT')])
    assert.deepEqual(await told('web1'), [20, left(20, '--limit COUNT')])
    assert.deepEqual(await told('web1', '--limit', '20'), [20, ''])
  })

  it('ends after 10,000 entries, however many pages there are', async (t) => {
    const entry = { time: 'now', event: 'configuration_added' }
    const history = Array.from({ length: 1_000 }, () => entry)
    const url = await serveJson(
      t,
      200,
      { history, since: 'then' },
      { Link: '</v1/history?before=x>; rel="next"' },
    )
    const { run } = await openHome(t, { CONNBOOK_SERVER: url })
    const { code, stdout, stderr } = await run(['history', '--since', '1d'])
    assert.deepEqual([code, stdout.split('\n').length], [0, 10_001])
    assert.equal(
      stderr,
      'connbook: Only the newest 10000 changes are shown; for older ones, ask for parts with --since and --until\n',
    )
  })

  it('shows without a name what happened to all records', async (t) => {
    const { run, see } = await openServer(t, [web1, { ...web1, name: 'db1', labels: { env: 'prod' } }])
    await run(['set', 'web1', '--port', '23'])
    await run(['set', 'db1', '--name', 'db2'])
    const told = async (...flags: string[]) => {
      const { code, stdout, stderr } = await run(['history', ...flags])
      assert.deepEqual([code, stderr], [0, ''], flags.join(' '))
      return stdout.split('\n').map((line) => line.split('\t').slice(1, 4).join(' '))
    }
    const all = ['modified db1 script', 'modified web1 script', 'added db1 script', 'added web1 script', '']
    assert.deepEqual(await told(), all)
    assert.deepEqual(await told('--since', '1d', '--by', 'script', '--limit', '2'), [...all.slice(0, 2), ''])
    assert.deepEqual(await told('--where', 'label=env=prod'), [all[0], all[2], ''])
    assert.deepEqual(await told('--until', '2000-01-01T00:00:00Z'), [''])
    const seen = await see(['history', '--limit', '1'], { environment: { NO_COLOR: '1' } })
    assert.match(
      seen.stdout,
      new RegExp(`^TIME +EVENT +NAME +BY +CHANGED\n${TIME}  modified  db1   script  `),
    )
    assert.match(seen.stderr, new RegExp(`^Complete since ${TIME}\n$`))
    const { stdout } = await run(['history', '--limit', '1', '--json'])
    assert.equal(JSON.parse(stdout).name, 'db1')
  })

  it('shows a change of very many records as one line with its counts', async (t) => {
    const names = Array.from({ length: 1_001 }, (_, i) => ({ ...web1, name: `n${i}` }))
    const { run } = await openServer(t, names)
    assert.equal((await run(['set', '--where', 'all=1', '--port', '23', '--yes'])).code, 0)
    const { stdout } = await run(['history', '--limit', '1'])
    const [, event, name, by, counts = ''] = stdout.trimEnd().split('\t')
    assert.deepEqual([event, name, by], ['changed', '', 'script'])
    assert.deepEqual(JSON.parse(counts), {
      matched: 1_001,
      modified: 1_001,
      unchanged: 0,
      changed: { port: 23 },
      query: 'all=1',
    })
  })

  it('shows why, and who used sudo', async (t) => {
    const { run, see } = await openServer(t, [web1])
    const reason = 'ticket 4711: "é"'
    assert.equal((await run(['set', 'web1', '--port', '23', '--reason', reason])).code, 0)
    assert.equal((await run(['rm', '--where', 'all=1', '--yes', '--reason', 'gone'])).code, 0)
    const { stdout } = await run(['history'])
    const [removed = '', modified = '', added = ''] = stdout.split('\n')
    assert.ok(removed.endsWith('\tgone'), removed)
    assert.ok(modified.endsWith(`\t${reason}`), modified)
    assert.equal(added.split('\t').length, 5)
    const seen = await see(['history', 'web1'], { environment: { NO_COLOR: '1' } })
    assert.match(seen.stdout, /CHANGED +REASON\n/)
    for (const bad of ['x'.repeat(256), 'a\nb'])
      assert.equal((await run(['rm', 'web1', '--reason', bad])).code, 2)
    const entry = { time: '2026-01-01T00:00:00.000Z', event: 'configuration_deleted', name: 'a' }
    const via = { kind: 'command', by: 'root', command: 'rm', via: { claimed: 'alice' } }
    const body = { history: [{ ...entry, ...via }], since: entry.time }
    const home = await openHome(t, { CONNBOOK_SERVER: await serveJson(t, 200, body) })
    const told = await home.run(['history'])
    assert.equal(told.stdout, '2026-01-01T00:00:00.000Z\tdeleted\ta\troot (claims: alice) (rm)\t\n')
  })

  it('refuses what does not go together, before it calls', async (t) => {
    const { run } = await openHome(t, { CONNBOOK_SERVER: 'http://127.0.0.1:1' })
    for (const flags of [
      ['web1', '--since', '7d'],
      ['web1', '--by', 'eve'],
      ['web1', '--where', 'q=x'],
      ['web1', '--limit', '101'],
      ['', '--limit', '1'],
      ['--limit', '1001'],
      ['--since', 'yesterday'],
      ['--until', ''],
      ['--by', ''],
      ['--where', ''],
      ['--where', 'sort=name'],
      ['--where', 'all=1'],
    ])
      assert.equal((await run(['history', ...flags])).code, 2, flags.join(' '))
  })
})
