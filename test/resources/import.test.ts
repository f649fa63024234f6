import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { ImportReader } from '../../src/exchange/import-reader.ts'
import { BODY_BYTES_MAX, IMPORT_AUDITED_RECORDS_MAX, IMPORT_BYTES_MAX } from '../../src/limits.ts'
import { importLimitsFor } from '../../src/resources/import.ts'
import { IMPORT_LOOK_MS } from '../../src/resources/import-slot.ts'
import { REFUSAL_PAUSE_MS } from '../../src/server/request-order.ts'
import { getToken, pathOf } from '../support/api.ts'
import { createFailingFiles, systemError } from '../support/failing-files.ts'
import { holdTimers, passTimeUntil } from '../support/held-timers.ts'
import { type Ask, createClient, type Headers } from '../support/http-client.ts'
import { client, start } from '../support/service.ts'
import { skipPauses } from '../support/skipped-pauses.ts'
import { draft } from '../support/store.ts'
import type { Lifetime } from '../support/temporary-folder.ts'

const HEADER = 'name,hostname,port,username\n'

interface Counts {
  readonly added: number
  readonly modified: number
  readonly removed: number
  readonly unchanged: number
}

interface Setup {
  readonly ask: Ask
  readonly service: Awaited<ReturnType<typeof start>>
  readonly auth: Headers
  send(type: string | undefined, body: string, query?: string): ReturnType<Ask>
  /** Names with their ports. */
  shown(): Promise<Record<string, number>>
}

async function setUp(t: Lifetime, files = createFailingFiles()): Promise<Setup> {
  const service = await start(t, { files })
  const auth = await getToken(service.url, client)
  const ask = createClient(service.url, auth)
  for (const name of ['same', 'other', 'left'])
    await ask('POST', '/configurations/', { body: draft(name, { port: 1 }) })
  return {
    ask,
    service,
    auth,
    send: (type, body, query = '') =>
      ask('POST', `/v1/import${query}`, {
        body: Buffer.from(body),
        headers: type === undefined ? {} : { 'Content-Type': type },
      }),
    async shown() {
      const { text } = await ask('GET', '/configurations/')
      const { configurations } = JSON.parse(text) as { configurations: { name: string; port: number }[] }
      return Object.fromEntries(configurations.map(({ name, port }) => [name, port]))
    },
  }
}

const before = { same: 1, other: 1, left: 1 }
const csv = `${HEADER}same,host.example,1,ops\nother,host.example,2,ops\nnew,host.example,3,ops\n`
const merged: Counts = { added: 1, modified: 1, removed: 0, unchanged: 1 }
const replaced: Counts = { ...merged, removed: 1 }

/** The server for requests that change nothing. */
const { send: sendInVain, ask: askInVain, shown: shownBefore } = await setUp({ after })

describe('POST /v1/import', () => {
  const rows = [draft('same', { port: 1 }), draft('other', { port: 2 }), draft('new', { port: 3 })]
  const bodies: Record<string, [type: string | undefined, body: string, query: string]> = {
    'CSV by its type': ['text/csv; charset=utf-8', csv, '?'],
    'a JSON array': ['application/json', JSON.stringify(rows), '?'],
    'a JSON object a line': [
      'application/x-ndjson',
      rows.map((row) => `${JSON.stringify(row)}\n`).join(''),
      '?',
    ],
    'the envelope of the list': ['application/vnd.x+json', JSON.stringify({ configurations: rows }), '?'],
    'ssh-config as plain text': [
      'text/plain',
      rows.map(({ name, port }) => `Host ${name}\nHostName host.example\nPort ${port}\nUser ops\n`).join(''),
      '?',
    ],
    'a service file as plain text, named by the query': [
      'text/plain',
      rows.map(({ name, port }) => `[${name}]\nhost=host.example\nport=${port}\n`).join(''),
      '?format=pg-service&default=username:ops&',
    ],
    'what ansible-inventory prints, named by the query': [
      'application/json',
      JSON.stringify({
        _meta: {
          hostvars: Object.fromEntries(
            rows.map(({ name, port }) => [name, { ansible_host: 'host.example', ansible_port: port }]),
          ),
        },
      }),
      '?format=ansible&extra=labels&default=username:ops&',
    ],
    'CSV without a type, named by the query': [undefined, csv, '?format=csv&'],
    'CSV with the default type of curl, named by the query': [
      'application/x-www-form-urlencoded',
      csv,
      '?format=csv&',
    ],
  }
  for (const [what, [type, body, query]] of Object.entries(bodies)) {
    it(`accepts ${what}`, async (t) => {
      const { send, shown } = await setUp(t)
      const answer = await send(type, body, `${query}mode=merge`)
      assert.deepEqual([answer.status, answer.json()], [200, merged])
      assert.deepEqual(await shown(), { ...before, other: 2, new: 3 })
    })
  }

  it('merges by default, and removes records that are not in the file in mode replace', async (t) => {
    const { send, shown } = await setUp(t)
    assert.deepEqual((await send('text/csv', csv, '?mode=replace')).json(), replaced)
    assert.deepEqual(await shown(), { same: 1, other: 2, new: 3 })
    const again = await send('text/csv', `${HEADER}new,host.example,4,ops\n`)
    assert.deepEqual(again.json(), { added: 0, modified: 1, removed: 0, unchanged: 0 })
    assert.deepEqual(await shown(), { same: 1, other: 2, new: 4 })
  })

  it('reports with dry_run what would change, and changes nothing', async () => {
    const { status, text } = await sendInVain('text/csv', csv, '?mode=replace&dry_run=1')
    assert.equal(status, 200)
    assert.deepEqual(JSON.parse(text), {
      dry_run: true,
      ...replaced,
      names: { added: ['new'], modified: ['other'], removed: ['left'] },
      changed: [{ name: 'other', changed: { port: { before: 1, after: 2 } } }],
      read: {
        ...{ encoding: 'utf-8', separator: ',' },
        columns: ['name', 'hostname', 'port', 'username'].map((column) => ({ column, becomes: column })),
        first: [1, 2, 3].map((port, i) => ({
          ...{ name: ['same', 'other', 'new'][i], hostname: 'host.example', port, username: 'ops' },
        })),
      },
    })
    assert.deepEqual(await shownBefore(), before)
  })

  it('reads CSV as the query says, and answers what it has left out', async (t) => {
    const { ask, shown } = await setUp(t)
    const body = Buffer.from(
      '\ufeffTitle;IP;Kind;Password\r\nnew;h.example;SSH;x\r\n;;;\r\nrdp;h.example;RDP;y\r\n',
      'utf16le',
    )
    const query = 'format=csv&only=kind:SSH&default=port:22&default=username:ops&map=label.kind:Kind'
    const tried = await ask('POST', `/v1/import?${query}&dry_run=1`, { body })
    const { read, warnings, added } = JSON.parse(tried.text)
    const columns = [
      { column: 'Title', becomes: 'name' },
      { column: 'IP', becomes: 'hostname' },
      { column: 'Kind', becomes: 'label.kind' },
      { column: 'Password', becomes: null, secret: true },
    ]
    const first = [{ name: 'new', hostname: 'h.example', port: 22, username: 'ops', labels: { kind: 'SSH' } }]
    assert.deepEqual([added, read], [1, { encoding: 'utf-16le', separator: ';', columns, first }])
    const left = [
      { line: 1, detail: 'column "Password" was left out: its name says a secret' },
      { line: 3, detail: 'left out 1 empty row' },
    ]
    assert.deepEqual(warnings, left)
    const done = await ask('POST', `/v1/import?${query}`, { body })
    assert.deepEqual(done.json(), { added: 1, modified: 0, removed: 0, unchanged: 0, warnings: left })
    assert.equal((await shown()).new, 22)
    const found = await ask('GET', '/configurations/new')
    assert.deepEqual(JSON.parse(found.text).configurations[0].labels, { kind: 'SSH' })
  })

  it('says with the errors of a body how it was read, dry run or not', async () => {
    for (const query of ['?', '?dry_run=1&']) {
      const header = await sendInVain('text/csv', 'Title|Rack\na|r\n', query)
      assert.equal(header.status, 400)
      assert.deepEqual(JSON.parse(header.text).read, {
        ...{ encoding: 'utf-8', separator: '|' },
        columns: [{ column: 'Title', becomes: 'name' }, { column: 'Rack' }],
        first: [],
      })
      const rows = await sendInVain('text/csv', `${csv}bad,h,0,u\n`, query)
      const names = JSON.parse(rows.text).read.first.map(({ name }: { name: string }) => name)
      assert.deepEqual([rows.status, names], [400, ['same', 'other', 'new']])
      const bytes = await askInVain('POST', `/v1/import${query}format=csv`, {
        body: Buffer.of(0xff, 0x61, 0x0a),
      })
      assert.deepEqual([bytes.status, JSON.parse(bytes.text).read], [400, undefined])
    }
  })

  it('refuses what the query says of the columns, all at once, and of another format', async (t) => {
    const { ask } = await setUp(t)
    const bad = await ask('POST', '/v1/import?format=csv&map=nam:x&default=port&separator=x&extra=all', {
      body: csv,
    })
    const faults = JSON.parse(bad.text).errors.map(({ field }: { field: string }) => field)
    assert.deepEqual([bad.status, faults.toSorted()], [400, ['default', 'extra', 'map', 'separator']])
    const other = await ask('POST', '/v1/import?format=json&only=a:b', { body: '[]' })
    assert.deepEqual(JSON.parse(other.text).errors, [
      { field: 'only', detail: 'is for csv only; this file is json' },
    ])
    const service = await ask('POST', '/v1/import?format=pg-service&extra=labels&default=port:1', {
      body: '',
    })
    assert.deepEqual(JSON.parse(service.text).errors, [
      { field: 'extra', detail: 'is for csv and ansible only; this file is pg-service' },
      { field: 'default', detail: '"port" is not a field that it fills in: username' },
    ])
    const twice = await ask('POST', '/v1/import?format=csv&extra=labels&extra=ignore', { body: csv })
    assert.deepEqual(JSON.parse(twice.text).errors, [{ field: 'extra', detail: 'is given twice' }])
  })

  it('is refused with 412 if a record has changed since the tag was read, tried or not', async (t) => {
    const { ask, service, auth, shown } = await setUp(t)
    const importIf = (headers: Headers, query = '') =>
      ask('POST', `/v1/import?format=csv&mode=replace${query}`, { body: csv, headers })
    const tagOf = async () => (await ask('GET', '/configurations/')).headers.etag ?? ''
    const tried = await importIf({}, '&dry_run=1')
    const tag = tried.headers.etag ?? ''
    assert.deepEqual([tag, tried.headers['cache-control']], [await tagOf(), 'no-cache, private'])
    const other = createClient(service.url, auth)
    await other('POST', '/configurations/', { body: draft('unseen', { port: 1 }) })
    for (const [headers, query] of [
      [{ 'If-Match': tag }, ''],
      [{ 'If-Match': tag }, '&dry_run=1'],
      [{ 'If-Match': `W/${await tagOf()}` }, ''],
      [{ 'If-None-Match': await tagOf() }, ''],
      [{ 'If-None-Match': '*' }, '&dry_run=1'],
    ] as const) {
      const { status, text } = await importIf(headers, query)
      const { type, detail } = JSON.parse(text)
      assert.deepEqual(
        [status, type, detail],
        [
          412,
          'urn:connbook:problem:stale_record',
          'The records have changed since they were read; nothing has changed; read them again',
        ],
      )
    }
    for (const headers of [{ 'If-Match': '' }, { 'If-Match': tag.slice(1, -1) }, { 'If-None-Match': 'x' }]) {
      for (const query of ['', '&dry_run=1']) {
        const refused = await importIf(headers, query)
        const { type } = refused.json<{ type: string }>()
        assert.deepEqual([refused.status, type], [400, 'urn:connbook:problem:malformed_condition'])
      }
    }
    assert.deepEqual(await shown(), { ...before, unseen: 1 })
    const again = await importIf({ 'If-Match': `"x", ${await tagOf()}`, 'If-None-Match': tag }, '&dry_run=1')
    const done = await importIf({ 'If-Match': again.headers.etag ?? '' })
    assert.deepEqual([done.status, done.headers.etag], [200, await tagOf()])
    assert.deepEqual(await shown(), { same: 1, other: 2, new: 3 })
    // Nothing differs any more: the tag stays.
    const unchanged = await importIf({ 'If-Match': done.headers.etag ?? '' })
    assert.deepEqual([unchanged.status, unchanged.headers.etag], [200, done.headers.etag])
    assert.equal((await importIf({ 'If-Match': '*' })).status, 200)
  })

  it('names every fault with its line, and changes nothing', async () => {
    const { status, text } = await sendInVain(
      'text/csv',
      `${HEADER}ok,host.example,1,ops\nbad,host.example,0,\n,h,1,ops\nok,h,1,ops\n`,
    )
    const problem = JSON.parse(text)
    assert.deepEqual(
      [status, problem.type, problem.detail],
      [
        400,
        'urn:connbook:problem:invalid_input',
        'Cannot import the records: there are 4 faults; nothing has changed',
      ],
    )
    assert.deepEqual(problem.errors, [
      { line: 3, name: 'bad', field: 'port', detail: 'must be an integer from 1 to 65535' },
      { line: 3, name: 'bad', field: 'username', detail: 'must not be empty' },
      { line: 4, field: 'name', detail: 'must not be empty' },
      { line: 5, name: 'ok', field: 'name', detail: 'is the same as on line 2' },
    ])
    assert.deepEqual(await shownBefore(), before)
  })

  it('reads ssh-config as ssh does, with a username and what to leave out from the query', async (t) => {
    const { ask, shown } = await setUp(t)
    const body =
      'Include x\nHost new\n  HostName %h.example\n  ForwardAgent yes\nMatch host *.example\n  Port 3\n'
    const refused = await ask('POST', '/v1/import?format=ssh-config', { body })
    assert.deepEqual(JSON.parse(refused.text).errors, [
      { line: 1, field: 'Include', detail: 'cannot be followed: only the command reads other files' },
      {
        ...{ line: 2, name: 'new', field: 'User' },
        detail: 'is missing; a configuration has a username; give user=NAME',
      },
    ])
    const done = await ask('POST', '/v1/import?format=ssh-config&user=ops&skip=1', { body })
    assert.deepEqual(done.json(), {
      ...{ added: 1, modified: 0, removed: 0, unchanged: 0 },
      warnings: [
        { line: 1, detail: 'left out: Include cannot be followed: only the command reads other files' },
        { line: 4, detail: 'ForwardAgent was left out' },
      ],
    })
    assert.equal((await shown()).new, 3)
    const other = await ask('POST', '/v1/import?format=csv&skip=1&user=ops', { body: csv })
    assert.deepEqual(JSON.parse(other.text).errors, [
      { field: 'user', detail: 'is for ssh-config only; this file is csv' },
    ])
    const rows = `${HEADER}good,h,22,u\nbad,h,x,u\nbad2,h,22,u\nbad2,h,23,u\n`
    const some = await ask('POST', '/v1/import?format=csv&skip=1', { body: Buffer.from(rows) })
    assert.deepEqual(some.json(), {
      ...{ added: 2, modified: 0, removed: 0, unchanged: 0 },
      warnings: [
        { line: 3, name: 'bad', detail: 'left out: port must be an integer from 1 to 65535' },
        { line: 5, name: 'bad2', detail: 'left out: name is the same as on line 4' },
      ],
    })
    const bad = await ask('POST', '/v1/import?format=ssh-config&skip=2&user=', { body })
    assert.deepEqual(
      JSON.parse(bad.text)
        .errors.map(({ field }: { field: string }) => field)
        .toSorted(),
      ['skip', 'user'],
    )
  })

  it('says a fault of many hosts of Ansible once, without a line, and the place of broken JSON', async () => {
    const hosts = await sendInVain('application/json', '{"a":{"hosts":["h1","h2","h3"]}}', '?format=ansible')
    const { detail, errors } = JSON.parse(hosts.text)
    assert.equal(hosts.status, 400)
    assert.match(detail, /^Cannot import the records: there are 3 faults; nothing has changed/)
    assert.deepEqual(errors, [
      { name: 'h1', field: 'username', detail: 'is missing; give default=username:NAME', more: 2 },
    ])
    const broken = await sendInVain('application/json', '{"a":\n {"hosts":[h]}}', '?format=ansible')
    assert.deepEqual(JSON.parse(broken.text).errors, [
      { line: 2, field: 'document', detail: 'is not valid JSON at column 12' },
    ])
    assert.deepEqual(await shownBefore(), before)
  })

  it('advises --data-binary for lines that curl -d has joined', async () => {
    const joined = csv.replaceAll('\n', '')
    const detailOf = async (body: string, format: string) => {
      const { status, text } = await sendInVain(
        'application/x-www-form-urlencoded',
        body,
        `?format=${format}`,
      )
      assert.equal(status, 400)
      return (JSON.parse(text) as { detail: string }).detail
    }
    assert.match(await detailOf(joined, 'csv'), /--data-binary, not -d$/)
    assert.match(await detailOf('{"name":"a"}{"name":"b"}', 'jsonl'), /--data-binary/)
    assert.doesNotMatch(await detailOf('[{}]', 'json'), /--data-binary/)
    assert.doesNotMatch(await detailOf('{"name":"a"}', 'jsonl'), /--data-binary/)
    assert.doesNotMatch(await detailOf('{"a":{"hosts":["h"]}}', 'ansible'), /--data-binary/)
    assert.doesNotMatch(await detailOf(`${HEADER}a,b\n`, 'csv'), /--data-binary/)
  })

  it('lists the first 100 faults, and reports their total', async () => {
    const { text } = await sendInVain('text/csv', HEADER + ',h,1,u\n'.repeat(2_500))
    const { detail, errors } = JSON.parse(text)
    assert.match(detail, /there are 2500 faults, of which 100 are listed; nothing has changed$/)
    assert.deepEqual([errors.length, errors.at(-1).line], [100, 101])
  })

  const refused: Record<
    string,
    [status: number, code: string, type: string | undefined, body: string, query: string]
  > = {
    'without a type': [415, 'unsupported_type', undefined, csv, ''],
    'as a form, whatever the format': [
      415,
      'unsupported_type',
      'multipart/form-data; boundary=x',
      csv,
      '?format=csv',
    ],
    'of another type': [415, 'unsupported_type', 'text/html', csv, ''],
    'whose type is the name of an object member': [415, 'unsupported_type', 'constructor', csv, ''],
    'in another charset': [415, 'unsupported_charset', 'text/csv; charset=latin1', csv, ''],
    'that is not UTF-8': [400, 'invalid_input', 'text/csv', '\ud800', '?format=__proto__'],
    'with an unknown mode': [400, 'invalid_input', 'text/csv', csv, '?mode=append'],
    'with an unknown format': [400, 'invalid_input', 'text/csv', csv, '?format=env'],
    'with an invalid dry_run': [400, 'invalid_input', 'text/csv', csv, '?dry_run=true'],
    'that is empty': [400, 'invalid_input', 'text/csv', '', ''],
  }
  for (const [what, [status, code, type, body, query]] of Object.entries(refused)) {
    it(`refuses a body ${what}, and changes nothing`, async () => {
      const answer = await sendInVain(type, body, query)
      assert.deepEqual(
        [answer.status, answer.json<{ type: string }>().type],
        [status, `urn:connbook:problem:${code}`],
      )
      assert.deepEqual(await shownBefore(), before)
    })
  }

  it('reads a large body to its last byte, chunked or not, which no other route does', async (t) => {
    const { ask, send } = await setUp(t)
    const count = 4_000
    const long = HEADER + Array.from({ length: count }, (_, i) => `n${i},h${i}.example,22,ops\n`).join('')
    assert.ok(long.length > BODY_BYTES_MAX)
    assert.equal((await send('text/csv', long)).json<Counts>().added, count)
    const chunked = await ask('POST', '/v1/import?mode=replace', {
      body: Buffer.from(long),
      headers: { 'Content-Type': 'text/csv', 'Transfer-Encoding': 'chunked' },
    })
    assert.deepEqual(chunked.json(), { added: 0, modified: 0, removed: 3, unchanged: count })
    const elsewhere = await ask('POST', '/configurations/', { body: Buffer.from(long) })
    assert.equal(elsewhere.status, 413)
  })

  it('refuses a body that is declared too long, and cuts off one that becomes too long', async (t) => {
    const { ask, shown } = await setUp(t)
    // So little memory makes the limit low.
    t.mock.method(process, 'constrainedMemory', () => 1)
    const { bytesMax } = importLimitsFor(0)
    assert.ok(bytesMax > BODY_BYTES_MAX && bytesMax < 1024 * 1024, String(bytesMax))
    const type = { 'Content-Type': 'text/csv' }
    const said = await ask('POST', '/v1/import', {
      body: Buffer.from('x'),
      headers: { ...type, 'Content-Length': String(bytesMax + 1) },
    })
    assert.equal(said.status, 413)
    const body = Buffer.alloc(bytesMax + 70_000, '\n')
    const found = await ask('POST', '/v1/import', {
      body,
      headers: { ...type, 'Transfer-Encoding': 'chunked' },
    })
    assert.equal(found.status, 413)
    assert.deepEqual(await shown(), before)
  })

  it('runs one import at a time, and answers others 503 with Retry-After', async (t) => {
    skipPauses(t, REFUSAL_PAUSE_MS)
    const { send, service, auth, shown } = await setUp(t)
    const { hostname, port } = new URL(service.url)
    const socket = connect(Number(port), hostname)
    t.after(() => void socket.destroy())
    const head = `POST /v1/import?format=csv HTTP/1.1\r\nHost: x\r\nAuthorization: ${auth.Authorization}\r\nExpect: 100-continue\r\nContent-Length: ${csv.length}\r\n\r\n`
    socket.write(head)
    const [hint] = (await once(socket, 'data')) as [Buffer]
    assert.match(hint.toString(), /^HTTP\/1.1 100 /)
    const second = await send('text/csv', csv)
    assert.deepEqual([second.status, second.headers['retry-after']], [503, '1'])
    socket.write(csv)
    const [answer] = (await once(socket, 'data')) as [Buffer]
    assert.match(answer.toString(), /^HTTP\/1.1 200 /)
    assert.equal((await send('text/csv', csv)).status, 200)
    assert.deepEqual(await shown(), { ...before, other: 2, new: 3 })
  })

  it('lets a short import not wait for a long one, nor for one of which nobody says how long it is', async (t) => {
    const { send, service, auth, shown } = await setUp(t)
    const { hostname, port } = new URL(service.url)
    for (const length of [`Content-Length: ${BODY_BYTES_MAX + 1}`, 'Transfer-Encoding: chunked']) {
      const socket = connect(Number(port), hostname)
      const head = `POST /v1/import?format=csv HTTP/1.1\r\nHost: x\r\nAuthorization: ${auth.Authorization}\r\nExpect: 100-continue\r\n${length}\r\n\r\n`
      socket.write(head)
      await once(socket, 'data')
      assert.equal((await send('text/csv', csv)).status, 200)
      socket.destroy()
    }
    assert.deepEqual(await shown(), { ...before, other: 2, new: 3 })
  })

  it('lets another account wait, and gives it the slot when the body under way does not come', async (t) => {
    const { service, auth, shown } = await setUp(t)
    const { hostname, port } = new URL(service.url)
    const socket = connect(Number(port), hostname)
    t.after(() => void socket.destroy())
    const head = `POST /v1/import?format=csv HTTP/1.1\r\nHost: x\r\nAuthorization: ${auth.Authorization}\r\nExpect: 100-continue\r\nContent-Length: ${csv.length}\r\n\r\n`
    socket.write(head)
    await once(socket, 'data')
    const refused = once(socket, 'data') as Promise<[Buffer]>
    const user = createClient(service.url, { Cookie: await service.cookie() })
    skipPauses(t, REFUSAL_PAUSE_MS)
    const tick = holdTimers(t, ['setInterval'])
    const asked = user('POST', '/v1/import?format=csv', { body: csv })
    const answer = await passTimeUntil(tick, IMPORT_LOOK_MS, asked)
    assert.deepEqual([answer.status, answer.json()], [200, merged])
    const [text] = await refused
    assert.match(text.toString(), /^HTTP\/1.1 503 .*\r\nRetry-After: 1\r\n.*came too slowly/s)
    // The server would wait for the rest before it stops.
    socket.destroy()
    assert.deepEqual(await shown(), { ...before, other: 2, new: 3 })
  })

  it('changes nothing when the client disconnects in the middle of the body, and accepts the next import', async (t) => {
    skipPauses(t, REFUSAL_PAUSE_MS)
    const { send, service, auth, shown } = await setUp(t)
    const { hostname, port } = new URL(service.url)
    const socket = connect(Number(port), hostname)
    const head = `POST /v1/import?format=csv HTTP/1.1\r\nHost: x\r\nAuthorization: ${auth.Authorization}\r\nExpect: 100-continue\r\nContent-Length: 10000\r\n\r\n`
    socket.write(head)
    await once(socket, 'data')
    socket.write(csv)
    socket.destroy()
    let answer = await send('text/csv', HEADER)
    while (answer.status === 503) answer = await send('text/csv', HEADER)
    assert.deepEqual([answer.status, await shown()], [200, before])
  })

  it('answers 507 when the disk is full, and changes nothing', async (t) => {
    const files = createFailingFiles()
    const { send, shown, service } = await setUp(t, files)
    const journal = join(service.folder.path, 'journal.jsonl')
    files.before = (operation, path) => {
      if (operation === 'write' && path === journal) throw systemError('ENOSPC')
    }
    assert.equal((await send('text/csv', csv)).status, 507)
    assert.deepEqual(await shown(), before)
    files.before = () => {}
    assert.equal((await send('text/csv', csv)).status, 200)
  })

  it('needs the scope write', async (t) => {
    const { service, ask } = await setUp(t)
    const token = await ask('POST', '/v1/auth/token', { body: { ...client, scope: 'read' } })
    const { access_token } = token.json<{ access_token: string }>()
    const reader = createClient(service.url, { Authorization: `Bearer ${access_token}` })
    assert.equal((await reader('POST', '/v1/import?format=csv', { body: csv })).status, 403)
    assert.equal((await createClient(service.url)('POST', '/v1/import', { body: csv })).status, 403)
  })

  it('writes its counts to the audit trail, and a line for each record of a small import', async (t) => {
    const { send, ask, service } = await setUp(t)
    await send('text/csv', csv, '?mode=replace')
    const many = Array.from({ length: IMPORT_AUDITED_RECORDS_MAX + 1 }, (_, i) => `n${i},h.example,1,ops\n`)
    await send('text/csv', HEADER + many.join(''))
    await ask('DELETE', pathOf('n7'))
    await service.stop()
    const lines = (await readFile(join(service.folder.path, 'audit.jsonl'), 'utf8')).trim().split('\n')
    const events = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
    const first = events.findIndex(({ event }) => event === 'configurations_imported')
    const shown = events.slice(first, first + 6).map(({ event, by, mode, added, removed, unchanged }) => {
      return [event, by, mode, added, removed, unchanged]
    })
    assert.deepEqual(shown, [
      ['configurations_imported', 'script', 'replace', 1, 1, 1],
      ['configuration_deleted', 'script', undefined, undefined, undefined, undefined],
      ['configuration_modified', 'script', undefined, undefined, undefined, undefined],
      ['configuration_added', 'script', undefined, undefined, undefined, undefined],
      ['configurations_imported', 'script', 'merge', IMPORT_AUDITED_RECORDS_MAX + 1, 0, 0],
      ['configuration_deleted', 'script', undefined, undefined, undefined, undefined],
    ])
  })
})

const MEBIBYTE = 1024 * 1024

describe('an import', () => {
  it('must be smaller where there is little memory', () => {
    const full = { bytesMax: IMPORT_BYTES_MAX, memoryMax: 225 * MEBIBYTE }
    assert.deepEqual(importLimitsFor(0, 600 * MEBIBYTE), full)
    const small = { bytesMax: 4 * MEBIBYTE, memoryMax: 18 * MEBIBYTE }
    assert.deepEqual(importLimitsFor(0, 48 * MEBIBYTE), small)
  })

  it('must be smaller where records take the memory', () => {
    const half = { bytesMax: 2 * MEBIBYTE, memoryMax: 9 * MEBIBYTE }
    assert.deepEqual(importLimitsFor(24 * MEBIBYTE, 48 * MEBIBYTE), half)
  })

  it('may have some rows in any memory', () => {
    const least = { bytesMax: MEBIBYTE / 4, memoryMax: 1.125 * MEBIBYTE }
    assert.deepEqual(importLimitsFor(48 * MEBIBYTE, 48 * MEBIBYTE), least)
  })

  /** The faults of rows with so many labels each, and how many of them were read. */
  function readIn(memoryMax: number, rows: number, labels: number) {
    const reader = new ImportReader('jsonl', 10, { memoryMax })
    for (let i = 0; i < rows; i++) {
      const keys = Array.from({ length: labels }, (_, at) => [`key-${i}-${at}`, ''])
      const row = { name: `n${i}`, hostname: 'h', port: 1, username: 'u', labels: Object.fromEntries(keys) }
      reader.read(Buffer.from(`${JSON.stringify(row)}\n`))
    }
    const { drafts, faults } = reader.end()
    return { read: drafts.length, details: faults.map(({ line, detail }) => `${line} ${detail}`) }
  }

  it('is read until its rows take the memory that they may have', () => {
    const { read, details } = readIn(MEBIBYTE, 10_000, 0)
    assert.ok(read > 1_000 && read < 2_000, String(read))
    assert.deepEqual(details, [
      `${read} needs more than 1.0 MiB of memory up to this row; nothing behind it was read; make it several files, or give connbook more memory`,
    ])
  })

  it('may have fewer rows with many labels', () => {
    const [{ read: without }, { read: few }] = [readIn(MEBIBYTE, 10_000, 0), readIn(MEBIBYTE, 10_000, 32)]
    assert.ok(few < without / 8, `${few} of ${without}`)
  })

  it('also counts the names of faulty rows', () => {
    const reader = new ImportReader('csv', 1, { memoryMax: MEBIBYTE })
    const rows = Array.from({ length: 200 }, (_, i) => `${i}${'x'.repeat(10_000)},h,1,u\n`)
    reader.read(Buffer.from(`name,hostname,port,username\n${rows.join('')}`))
    assert.ok(reader.end().faultCount < 60)
  })
})
