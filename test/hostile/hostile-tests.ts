import assert from 'node:assert/strict'
import { readdir, readlink } from 'node:fs/promises'
import { Agent } from 'node:http'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { version } from '../../src/version.ts'
import { getToken, logIn } from '../support/api.ts'
import { eventually } from '../support/eventually.ts'
import { startExecutable } from '../support/executable.ts'
import { createClient, recordsIn, type ShownRecord } from '../support/http-client.ts'
import type { RawAnswer } from '../support/raw-http.ts'
import { initial, makeInitialFolder } from '../support/started-folder.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { makeCorpus } from './corpus.ts'
import { exchange } from './exchange.ts'
import { findInnerDetail } from './inner-detail.ts'
import { configuration } from './requests.ts'
import type { HostileRow, Loot } from './row.ts'

const ROWS_MIN = 400
const GROUP_ROWS_MIN = 20

/**
 * Describes what each row of the corpus does to a server: only what it may.
 *
 * @param program As for `startExecutable`.
 */
export async function describeHostileInput(program: readonly string[]): Promise<void> {
  const folder = join(await temporaryFolder({ after }), 'data')
  await makeInitialFolder({ after }, folder)
  const server = await startExecutable({ after }, ['--data', folder, '--access-log'], { program })
  const { url, process: child } = server
  const { username, password, client_id, client_secret } = initial
  const user = { username, password }
  const client = { client_id, client_secret }
  const { Authorization: bearer } = await obtain(() => getToken(url, client))
  const { Cookie: cookie } = await obtain(() => logIn(url, user))
  const ask = createClient(url, { Authorization: bearer })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  after(() => agent.destroy())
  const askAgain = createClient(url, { Authorization: bearer }, { agent })
  let listed: { readonly text: string; readonly records: readonly ShownRecord[] } = { text: '', records: [] }
  const added = await ask('POST', '/configurations/', { body: configuration({ name: 'victim' }) })
  let records: readonly ShownRecord[] = recordsIn(added)
  const loot: Loot = {
    bearer,
    cookie,
    endedBearer: (await endNow(await getToken(url, client))).Authorization,
    endedCookie: (await endNow(await logIn(url, user))).Cookie,
    user,
    client,
    etag: added.headers.etag ?? '',
  }
  const credentials = [user.password, client.client_secret, bearer.slice('Bearer '.length), cookie]
  const groups = makeCorpus(loot)
  assert.deepEqual(await listRecords(), records)
  // The first request for the console makes a run from source start esbuild, with pipes to it.
  assert.equal((await ask('GET', '/console/')).status, 200)
  const socketsBefore = await countSockets()

  /** Retries until the signature holds a character that differs between base64 and base64url. */
  async function obtain<Headers extends Record<string, string>>(
    issue: () => Promise<Headers>,
  ): Promise<Headers> {
    for (;;) {
      const headers = await issue()
      if (/[-_][^.]*$/.test(Object.values(headers)[0] ?? '')) return headers
    }
  }

  async function endNow<Credential extends Record<string, string>>(
    credential: Credential,
  ): Promise<Credential> {
    assert.equal((await createClient(url, credential)('POST', '/logout')).status, 200)
    return credential
  }

  /** How many sockets the server holds; only where /proc shows it. */
  async function countSockets(): Promise<number> {
    if (process.platform !== 'linux') return 0
    const table = `/proc/${child.pid}/fd`
    const links = await Promise.all(
      (await readdir(table)).map((fd) => readlink(`${table}/${fd}`).catch(() => '')),
    )
    return links.filter((link) => link.startsWith('socket:')).length
  }

  it('covers every group, and each row has a unique name', () => {
    for (const { name, rows } of groups) assert.ok(rows.length >= GROUP_ROWS_MIN, `${name}: ${rows.length}`)
    const names = groups.flatMap((group) => group.rows.map((row) => `${group.name}: ${row.name}`))
    assert.ok(names.length >= ROWS_MIN, `${names.length}`)
    assert.deepEqual(
      names.filter((name, i) => names.indexOf(name) !== i),
      [],
    )
    const foreseen = [
      'request line',
      'headers',
      'framing',
      'paths',
      'queries',
      'media types',
      'bytes',
      'JSON',
      'fields',
      'labels',
      'logins',
      'token requests',
      'tokens',
      'own account',
      'cookies',
      'cross-site requests',
      'conditions',
      'console',
    ]
    assert.deepEqual(
      groups.map(({ name }) => name),
      foreseen,
    )
  })

  it('has no row that allows a 5xx status', () => {
    const failing = groups.flatMap(({ rows }) =>
      rows.filter(({ allowed }) => allowed.flat().some((status) => status >= 500)),
    )
    assert.deepEqual(failing, [])
  })

  for (const { name, rows } of groups) {
    describe(name, () => {
      for (const row of rows) it(titleOf(row), () => survive(row))
    })
  }

  async function survive(row: HostileRow) {
    const before = records
    const { answers } = await exchange(url, row).finally(async () => {
      // A row that fails must not make later ones fail.
      records = await listRecords()
    })
    const isAllowed =
      answers.length === row.allowed.length &&
      answers.every(({ status }, i) => row.allowed[i]?.includes(status))
    assert.ok(isAllowed, answers.map(({ status, body }) => `${status} ${body}`).join('\n'))
    for (const answer of answers) {
      assert.equal(findInnerDetail(answer, row.bytes, [folder, version, ...credentials]), undefined)
    }
    assert.equal(child.exitCode ?? child.signalCode, null, 'the server has ended')
    const added = acknowledged(row, answers, before)
    if (added.length > 0 || records !== before) assert.deepEqual(records, [...before, ...added])
  }

  /** Uses one connection for all rows, which no row may disturb; returns the same array while the answer is the same. */
  async function listRecords(): Promise<readonly ShownRecord[]> {
    const answer = await askAgain('GET', '/configurations/')
    assert.equal(answer.status, 200, answer.text)
    if (answer.text !== listed.text) listed = { text: answer.text, records: recordsIn(answer) }
    return listed.records
  }

  /** The record that a row has added; the answers to other rows must hold none. */
  function acknowledged(
    { adds }: HostileRow,
    answers: readonly RawAnswer[],
    before: readonly ShownRecord[],
  ): ShownRecord[] {
    const additions = answers.filter(({ status, head }) => status < 300 && /^location: /im.test(head))
    assert.equal(additions.length, adds === undefined ? 0 : 1)
    if (adds === undefined) return []
    const { name, hostname, port, username, labels } = adds
    const fields = { name, hostname, port, username, ...(labels === undefined ? {} : { labels }) }
    const record = { id: (before.at(-1)?.id ?? 0) + 1, ...fields }
    const body = Buffer.from(additions[0]?.body ?? '', 'latin1').toString()
    assert.equal(body, JSON.stringify({ configurations: [record] }))
    return [record]
  }

  it('leaves nobody locked out', async () => {
    assert.equal((await ask('GET', '/configurations/')).status, 200)
    assert.equal((await createClient(url, { Cookie: cookie })('GET', '/configurations/')).status, 200)
    assert.match((await logIn(url, user)).Cookie, /^connbook_session_[0-9a-f]{8}=./)
    assert.match((await getToken(url, client)).Authorization, /^Bearer ./)
  })

  it('leaves no socket open', async () => {
    await eventually('the sockets are closed', async () => (await countSockets()) <= socketsBefore)
  })

  it('leaves only whole, expected lines without secrets in the log', () => {
    const lines = server.stderr().trimEnd().split('\n')
    const events = lines.map((line) => JSON.parse(line) as { level: unknown; event: unknown })
    assert.deepEqual(
      events.filter(({ level }) => level !== 'info' && level !== 'warn'),
      [],
    )
    assert.deepEqual(
      lines.filter((line) => credentials.some((secret) => line.includes(secret))),
      [],
    )
  })

  it('loses nothing that was acknowledged, as the next start shows', async (t) => {
    assert.equal(await server.stop(), 0)
    const second = await startExecutable(t, ['--data', folder])
    const credential = await getToken(second.url, client)
    assert.deepEqual(
      recordsIn(await createClient(second.url, credential)('GET', '/configurations/')),
      records,
    )
  })
}

function titleOf({ name, allowed }: HostileRow): string {
  const statuses = allowed.map((some) => some.join(' or '))
  const shown = statuses.length > 3 ? `${statuses.length} answers` : statuses.join(', ')
  return `${name}: ${shown || 'no answer'}`
}
