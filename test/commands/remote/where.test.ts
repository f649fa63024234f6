import '../../support/node-version.ts'
import '../../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { namesIn, recordsIn } from '../../support/http-client.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { openHome, openServer, typing, web1 } from './client-home.ts'
import { problemOf, serveJson, serveOther } from './other-server.ts'

const staging = (name: string, port = 22) => ({ ...web1, name, port, labels: { env: 'staging' } })

/** A server with st1 to st3, of which st3 has another port, and web1. */
async function open(t: TestContext) {
  const server = await openServer(t, [staging('st1'), staging('st2'), staging('st3', 2222), web1])
  const tag = async () => String((await server.ask('HEAD', '/configurations/')).headers.etag)
  const ports = async () =>
    recordsIn(await server.ask('GET', '/configurations/')).map(({ name, port }) => `${name} ${port}`)
  return { ...server, tag, ports }
}

describe('connbook set --where', () => {
  const args = ['set', '--where', 'label=env=staging&prefix=st', '--port', '2222', '--label', 'team=web ops']

  it('shows with --dry-run what would change, and changes nothing', async (t) => {
    const { run, tag, service } = await open(t)
    const before = await tag()
    assert.deepEqual(await run([...args, '--no-label', 'env', '--dry-run']), {
      code: 0,
      stdout:
        'modify "st1": port 22 -> 2222, label.env staging -> -, label.team - -> "web ops"\n' +
        'modify "st2": port 22 -> 2222, label.env staging -> -, label.team - -> "web ops"\n' +
        'modify "st3": label.env staging -> -, label.team - -> "web ops"\n',
      stderr: `Would change 3 records at ${service.url}; nothing has changed\n`,
    })
    assert.equal(await tag(), before)
  })

  it('changes all with --yes, or says that there is nothing to change', async (t) => {
    const { run, ports, service } = await open(t)
    assert.deepEqual(await run(['set', '--where', 'label=env=staging', '--port', '2222', '--yes']), {
      code: 0,
      stdout: '',
      stderr: `Changed 2 records; 1 more were so already at ${service.url}\n`,
    })
    assert.deepEqual(await ports(), ['st1 2222', 'st2 2222', 'st3 2222', 'web1 22'])
    const none = await run(['set', '--where', 'q=nothing', '--port', '1', '--dry-run'])
    assert.deepEqual(
      [none.code, none.stdout, none.stderr],
      [0, '', `No record is kept by --where; nothing has changed at ${service.url}\n`],
    )
    assert.equal((await run(['set', '--where', 'all=1', '--port', '7', '--yes'])).code, 0)
    assert.deepEqual(await ports(), ['st1 7', 'st2 7', 'st3 7', 'web1 7'])
  })

  it('asks on a terminal, after it has shown what would change', async (t) => {
    const { run, ports, tag, service } = await open(t)
    const before = await tag()
    for (const answer of ['n\n', '\n', 'yess\n', 'no\n']) {
      const { code, stdout, stderr } = await run(args, typing(answer))
      assert.equal(code, 1, stderr)
      assert.match(stdout, /^modify "st1": .*\nmodify "st2": .*\nmodify "st3": .*\n$/)
      assert.match(
        stderr,
        /Change 3 records at .*\? \[y\/N\] [\s\S]*connbook: You did not agree; nothing has changed\n$/,
      )
    }
    assert.equal(await tag(), before)
    const { code, stderr } = await run(args, typing('YES\n'))
    assert.equal(code, 0)
    assert.ok(stderr.endsWith(`Changed 3 records at ${service.url}\n`), stderr)
    assert.deepEqual(await ports(), ['st1 2222', 'st2 2222', 'st3 2222', 'web1 22'])
    const again = await run(args, typing('y\n'))
    assert.equal(again.stderr, `3 records kept, and so already; nothing has changed at ${service.url}\n`)
  })

  it('shows and asks anew when a record has changed meanwhile', async (t) => {
    const { run, ask, ports } = await open(t)
    let isChanged = false
    const changeOnce = async () => {
      if (isChanged) return
      isChanged = true
      await ask('PATCH', '/configurations/st2', { body: { port: 2222, labels: { env: 'x' } } })
    }
    const { code, stdout, stderr } = await run(
      ['set', '--where', 'label=env=staging', '--port', '9'],
      typing('y\n', changeOnce),
    )
    assert.equal(code, 0, stderr)
    assert.equal(stdout.match(/modify "st2"/g)?.length, 1)
    assert.match(
      stderr,
      /Change 3 records .*[\s\S]*Records have changed meanwhile.*\n[\s\S]*Change 2 records /,
    )
    assert.deepEqual(await ports(), ['st1 9', 'st2 2222', 'st3 9', 'web1 22'])
  })

  it('names each record that would become invalid', async (t) => {
    const { run, ask, tag } = await open(t)
    const labels = Object.fromEntries(Array.from({ length: 32 }, (_, i) => [`k${i}`, '']))
    await ask('POST', '/configurations/', { body: { ...web1, name: 'full', labels } })
    const before = await tag()
    const { code, stderr } = await run(['set', '--where', 'all=1', '--label', 'more=x', '--yes'])
    assert.equal(code, 2)
    assert.match(stderr, /nothing has changed\n {2}"full": --label must be at most 32; these are 33\n$/)
    assert.equal(await tag(), before)
  })

  it('names each record that the account may not change', async (t) => {
    const errors = [{ field: 'name', detail: 'is not one that this account may change so', name: 'st2' }]
    const url = await serveJson(t, 403, problemOf(403, 'not_granted', 'Not granted', { errors }))
    const { run } = await openHome(t, { CONNBOOK_SERVER: url })
    for (const flag of ['--dry-run', '--yes'])
      assert.deepEqual(await run(['set', '--where', 'all=1', '--port', '1', flag]), {
        code: 5,
        stdout: '',
        stderr: 'connbook: Not granted\n  "st2" is not one that this account may change so\n',
      })
  })

  it('is refused before anything is asked of a server', async (t) => {
    const { run } = await openHome(t, { CONNBOOK_SERVER: 'http://127.0.0.1:1' })
    const refused: [args: string[], message: RegExp][] = [
      [
        ['set', '--port', '1'],
        /^connbook: Name the record to change, or the records with --where QUERY; nothing/,
      ],
      [['set', '--where', 'q=a'], /^connbook: Say what to change/],
      [
        ['set', 'web1', '--where', 'q=a', '--port', '1'],
        /^connbook: Name records, or give --where, not both/,
      ],
      [['set', '--where', 'q=a', '--port', '1', '--name', 'x'], /leave out --create, --name and --if-match/],
      [
        ['set', '--where', 'q=a', '--port', '1', '--if-match', 'x'],
        /leave out --create, --name and --if-match/,
      ],
      [['set', 'web1', '--port', '1', '--dry-run'], /^connbook: --dry-run is for --where/],
      [['set', 'web1', '--port', '1', '--yes'], /^connbook: --yes is for --where/],
      [
        ['set', '--where', 'q=a', '--port', '1'],
        /^connbook: There is no terminal to ask on; .* add --yes\n$/,
      ],
      [['set', '--where', '', '--port', '1', '--yes'], /--where "": it is empty/],
      [['set', '--where', '&', '--port', '1', '--yes'], /--where "&": it is empty; write filters/],
      [
        ['set', '--where', 'lable=x&q=a', '--port', '1', '--yes'],
        /--where "lable=x&q=a": lable is not a parameter here/,
      ],
      [['set', '--where', 'sort=name&q=a', '--port', '1', '--yes'], /sort is not a parameter here/],
      [['set', '--where', 'dry_run=1&q=a', '--port', '1', '--yes'], /dry_run is not a parameter here/],
      [['set', '--where', 'port=x', '--port', '1', '--yes'], /port must be a plain decimal integer/],
      [
        ['set', '--where', 'all=1&q=a', '--port', '1', '--yes'],
        /all must not be given together with a filter/,
      ],
      [['set', '--where', 'all=2', '--port', '1', '--yes'], /all must be 1/],
      [['set', '--where', 'q=%', '--port', '1', '--yes'], /it is not percent-encoded UTF-8/],
      [['rm', '--where', 'name=', '--yes'], /name must not be empty/],
      [['rm', 'a', '--where', 'q=a', '--yes'], /Name records, or give --where, not both/],
      [['rm', '--where', 'q=a', '--if-match', 'x'], /With --where, leave out --if-match/],
      [['rm', '--where', 'q=a'], /There is no terminal to ask on/],
      [['rm'], /^connbook: Write it as: connbook rm NAME…, or: connbook rm --where QUERY\n$/],
      [['rm', 'a', ''], /^connbook: The name of a record cannot be empty; nothing has changed\n$/],
      [['set', '', '--port', '1'], /^connbook: The name of a record cannot be empty/],
      [['get', ''], /^connbook: The name of a record cannot be empty/],
      [['ls', '--where', 'all=1'], /all is not a parameter here/],
    ]
    for (const [args, message] of refused) {
      const { code, stdout, stderr } = await run(args)
      assert.deepEqual([code, stdout], [2, ''], args.join(' '))
      assert.match(stderr, message)
    }
  })

  it('does not take another answer for a change', async (t) => {
    const url = await serveJson(t, 200, { configurations: [] })
    const { run } = await openHome(t, { CONNBOOK_SERVER: url, CONNBOOK_TOKEN: 'x' })
    const { code, stderr } = await run(['set', '--where', 'q=a', '--port', '1', '--yes'])
    assert.deepEqual([code, /does not say what it has changed; is it a connbook/.test(stderr)], [1, true])
  })
})

describe('connbook set --where and rm --where with --save', () => {
  it('keep the records as they were, for an import', async (t) => {
    const { run, ask, ports, service } = await open(t)
    await ask('PATCH', '/configurations/st2', { body: { labels: { env: null } } })
    const before = recordsIn(await ask('GET', '/configurations/'))
    const folder = await temporaryFolder(t)
    const [first, second] = [join(folder, 'first.json'), join(folder, 'second.json')]
    const set = ['set', '--where', 'prefix=st', '--port', '9', '--label', 'x=y', '--save', first, '--yes']
    const { code, stderr } = await run(set)
    assert.deepEqual(
      [code, stderr],
      [0, `Changed 3 records at ${service.url}\nSaved as they were to ${first}\n`],
    )
    assert.deepEqual(await ports(), ['st1 9', 'st2 9', 'st3 9', 'web1 22'])
    assert.equal((await stat(first)).mode & 0o777, 0o600)
    assert.equal((await run(['import', first, '--server', service.url])).code, 0)
    assert.deepEqual(recordsIn(await ask('GET', '/configurations/')), before)
    const rm = ['rm', '--where', 'all=1', '--save', second]
    assert.equal((await run(rm, typing('y\n'))).code, 0)
    assert.deepEqual(await ports(), [])
    assert.equal((await run(['import', second, '--server', service.url])).code, 0)
    assert.deepEqual(await ports(), ['st1 22', 'st2 22', 'st3 2222', 'web1 22'])
    const again = await run([...rm, '--yes'])
    assert.equal(again.code, 2)
    assert.match(
      again.stderr,
      /^connbook: Cannot save to ".*second.json": it is there already; name another file/,
    )
    assert.equal((await ports()).length, 4)
  })

  it('write no file into a data folder', async (t) => {
    const { run, ports, service } = await open(t)
    const file = join(service.folder.path, 'kept.json')
    const { code, stderr } = await run(['set', '--where', 'all=1', '--port', '9', '--save', file, '--yes'])
    assert.equal(code, 2)
    assert.match(stderr, /^connbook: Cannot save to ".*kept.json": it is in a data folder; name another/)
    assert.deepEqual(await ports(), ['st1 22', 'st2 22', 'st3 2222', 'web1 22'])
    await assert.rejects(stat(file), { code: 'ENOENT' })
  })

  it('leave no file where nothing has changed in the end', async (t) => {
    const { run, tag } = await open(t)
    const before = await tag()
    const file = join(await temporaryFolder(t), 'saved.json')
    const save = ['--save', file]
    const unchanged = ['set', '--where', 'prefix=st3', '--port', '2222', ...save, '--yes']
    const refused = ['set', '--where', 'prefix=st', '--port', '0', ...save, '--yes']
    const cases: [args: string[], code: number][] = [
      [unchanged, 0],
      [refused, 2],
      [['rm', '--where', 'q=nothing', ...save, '--yes'], 0],
      [['rm', '--where', 'q=st', ...save, '--dry-run'], 2],
      [['rm', '--where', 'q=st', '--save', '-', '--yes'], 2],
      [['rm', 'st1', ...save], 2],
      [['rm', '--where', 'q=st', '--save', join(file, 'x'), '--yes'], 1],
    ]
    for (const [args, code] of cases) {
      const done = await run(args)
      assert.equal(done.code, code, done.stderr)
      await assert.rejects(stat(file), { code: 'ENOENT' })
    }
    assert.equal((await run(['rm', '--where', 'q=st', ...save], typing('n\n'))).code, 1)
    await assert.rejects(stat(file), { code: 'ENOENT' })
    assert.equal(await tag(), before)
  })

  it('keep the file where the change may have been made all the same', async (t) => {
    const answers: [status: number, type: string, body: object][] = [
      [502, 'text/html', {}],
      [503, 'application/problem+json', problemOf(503, 'outcome_unknown', 'it is not known')],
      [200, 'application/json', {}],
    ]
    for (const [status, type, body] of answers) {
      const url = await serveOther(t, (request, response) => {
        const isChange = request.method === 'DELETE'
        const head = { 'Content-Type': isChange ? type : 'application/json', ETag: '"t"' }
        response.writeHead(isChange ? status : 200, head)
        response.end(JSON.stringify(isChange ? body : { configurations: [] }))
      })
      const { run } = await openHome(t, { CONNBOOK_SERVER: url, CONNBOOK_TOKEN: 'x' })
      const file = join(await temporaryFolder(t), 'saved.json')
      const { code, stderr } = await run(['rm', '--where', 'q=a', '--save', file, '--yes', '--no-retry'])
      assert.notEqual(code, 0)
      assert.ok(stderr.includes(`The records as they were are in ${file}\n`), stderr)
      assert.equal((await stat(file)).isFile(), true)
    }
  })

  it('are tried anew when a record changes in between, five times', async (t) => {
    let changes = 0
    const url = await serveOther(t, (request, response) => {
      const isChange = request.method === 'DELETE'
      changes += isChange ? 1 : 0
      const type = isChange ? 'application/problem+json' : 'application/json'
      response.writeHead(isChange ? 412 : 200, { 'Content-Type': type, ETag: '"t"' })
      response.end(
        JSON.stringify(isChange ? problemOf(412, 'stale_record', 'it is stale') : { configurations: [] }),
      )
    })
    const { run } = await openHome(t, { CONNBOOK_SERVER: url, CONNBOOK_TOKEN: 'x' })
    const file = join(await temporaryFolder(t), 'saved.json')
    const { code, stderr } = await run(['rm', '--where', 'q=a', '--save', file, '--yes'])
    assert.deepEqual([code, stderr, changes], [4, 'connbook: it is stale\n', 5])
    await assert.rejects(stat(file), { code: 'ENOENT' })
  })
})

describe('connbook rm --where', () => {
  it('shows, asks, and deletes', async (t) => {
    const { run, ask, service } = await open(t)
    const args = ['rm', '--where', 'label=env=staging&port=22']
    assert.deepEqual(await run([...args, '--dry-run', '--yes']), {
      code: 0,
      stdout: 'remove "st1"\nremove "st2"\n',
      stderr: `Would delete 2 records at ${service.url}; nothing has changed\n`,
    })
    assert.equal((await run(args, typing('n\n'))).code, 1)
    const { code, stderr } = await run(args, typing('y\n'))
    assert.equal(code, 0)
    assert.ok(
      stderr.endsWith(`Deleted 2 records at ${service.url}; connbook revert NAME brings one back\n`),
      stderr,
    )
    assert.deepEqual(namesIn(await ask('GET', '/configurations/')), ['st3', 'web1'])
    const none = await run([...args, '--yes'])
    assert.deepEqual([none.code, none.stderr], [0, `Deleted 0 records at ${service.url}\n`])
  })
})

describe('connbook ls --where', () => {
  it('lists what a query keeps, in its order, together with other filters', async (t) => {
    const { run } = await open(t)
    const names = async (...args: string[]) => (await run(['ls', '--names', ...args])).stdout
    assert.equal(await names('--where', 'label=env=staging&sort=-name'), 'st3\nst2\nst1\n')
    assert.equal(await names('--where', 'label=env=staging', '--port', '22', '--sort', '-name'), 'st2\nst1\n')
    assert.equal(await names('2', '--where', 'q=%73t'), '')
    assert.equal(await names('--where', '?id=4,1'), 'st1\nweb1\n')
    assert.equal(await names('--where', 'q=staging st2'), 'st2\n')
  })
})
