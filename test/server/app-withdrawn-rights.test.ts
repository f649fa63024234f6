import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, describe, it, type TestContext } from 'node:test'
import { type AccountKind, addAccount } from '../../src/auth/accounts.ts'
import { accountsDocument } from '../../src/auth/accounts-file.ts'
import { digestSecret } from '../../src/auth/secret.ts'
import { dataFiles, dataPaths } from '../../src/files/data-folder.ts'
import { OwnedDocument } from '../../src/files/shared-document.ts'
import { routes } from '../../src/resources/routes.ts'
import { Writer } from '../../src/store/writer.ts'
import { getToken, logIn } from '../support/api.ts'
import { until } from '../support/eventually.ts'
import { createFailingFiles, holdUp } from '../support/failing-files.ts'
import { createClient } from '../support/http-client.ts'
import { formatRequest, parseAnswers, type RawAnswer } from '../support/raw-http.ts'
import { start, usedFolder } from '../support/service.ts'
import { cheapHashOf } from '../support/started-folder.ts'
import { draft } from '../support/store.ts'

const SECRET = 'a secret of a test'
const NEW_SECRET = 'another secret of a test'
/** Callers of each kind: more than there are cases. */
const CALLERS = 200

/** Every route that changes something, with a change that is possible. */
const changes: Record<string, [path: string, body?: unknown]> = {
  'POST /configurations/': ['/configurations/', draft('new')],
  'PUT /configurations/:name': ['/configurations/new', draft('new')],
  'PATCH /configurations/:name': ['/configurations/here', { port: 1 }],
  'DELETE /configurations/:name': ['/configurations/here'],
  'PATCH /configurations/': ['/configurations/?name=here', { port: 1 }],
  'DELETE /configurations/': ['/configurations/?name=here'],
  'POST /v1/import': ['/v1/import?mode=replace', [draft('new'), draft('newer')]],
}
const PASSWORD = 'POST /v1/password'

/** What an admin does to an account. */
const withdrawals: Record<string, (kind: AccountKind) => [method: string, body?: unknown]> = {
  'the scope is taken': () => ['PATCH', { scope: 'read' }],
  'the account is removed': () => ['DELETE'],
  'the password is changed': (kind) => [
    'PATCH',
    kind === 'user' ? { password: 'chosen by somebody else' } : { rotate: true },
  ],
}
const SCOPE_TAKEN = 'the scope is taken'
const ENDED = 'the session or token is ended'

/** How much of the body has been sent by then. */
const moments = [
  ['before the body', 0],
  ['in mid-body', 0.5],
] as const

/** A caller, and the headers of its credential. */
interface Caller {
  readonly kind: AccountKind
  readonly name: string
  readonly headers: Readonly<Record<string, string>>
}

/** A folder with many accounts, none of which is used twice. */
async function folderWithCallers(): Promise<string> {
  const path = await usedFolder({ after })
  const document = accountsDocument(dataPaths(path))
  let accounts = (await document.read()) ?? assert.fail('no accounts')
  for (let i = 0; i < CALLERS; i++) {
    accounts = addAccount(accounts, 'user', `user${i}`, await cheapHashOf(SECRET))
    accounts = addAccount(accounts, 'client', `client${i}`, digestSecret(SECRET))
  }
  await document.write(accounts)
  return path
}

/** Sends the head of a request, and resolves once the server waits for its body; then the test sends parts of that. */
async function begin(
  t: TestContext,
  url: string,
  method: string,
  path: string,
  caller: Caller,
  body: string,
) {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port) }).setEncoding('latin1')
  t.after(() => socket.destroy())
  const type = { 'Content-Type': 'application/json', Expect: '100-continue' }
  const head = formatRequest(`${method} ${path}`, { ...caller.headers, ...(body === '' ? {} : type) }, body)
  const [headers = ''] = head.split('\r\n\r\n')
  socket.write(`${headers}\r\n\r\n`)
  if (body !== '') assert.match(String((await once(socket, 'data'))[0]), /^HTTP\/1.1 100 /)
  let sent = 0
  return {
    sendUpTo(share: number) {
      const end = Math.round(body.length * share)
      socket.write(body.slice(sent, end))
      sent = end
    },
    answer: async () => {
      const [answer] = parseAnswers(String((await once(socket, 'data'))[0]))
      return answer ?? assert.fail('no answer')
    },
  }
}

function assertRefused({ status, head, body }: RawAnswer, what: string, { kind }: Caller) {
  const code =
    what === SCOPE_TAKEN ? 'insufficient_scope' : kind === 'user' ? 'not_authenticated' : 'invalid_token'
  assert.deepEqual([status, JSON.parse(body).type], [403, `urn:connbook:problem:${code}`])
  assert.equal(
    /error="(\w+)"/.exec(head)?.[1],
    kind === 'user' && code !== 'insufficient_scope' ? undefined : code,
  )
}

describe('a right that is withdrawn', async () => {
  const path = await folderWithCallers()
  const files = createFailingFiles()
  const service = await start({ after }, { folder: path, files })
  const owner = createClient(service.url, { Cookie: await service.cookie() })
  for (const name of ['here', 'other']) await owner('POST', '/configurations/', { body: draft(name) })
  let used = 0

  async function newCaller(kind: AccountKind): Promise<Caller> {
    const name = `${kind}${used++}`
    const headers =
      kind === 'user'
        ? await logIn(service.url, { username: name, password: SECRET })
        : await getToken(service.url, { client_id: name, client_secret: SECRET })
    return { kind, name, headers }
  }

  async function withdraw(what: string, { kind, name, headers }: Caller) {
    const change = withdrawals[what]?.(kind)
    if (change !== undefined) {
      const [method, body] = change
      const { status } = await owner(method, `/v1/${kind}s/${name}`, { body })
      assert.ok(status < 300, String(status))
    } else if (kind === 'user') await createClient(service.url, headers)('POST', '/logout')
    else {
      const token = headers.Authorization?.replace('Bearer ', '')
      const body = { client_id: name, client_secret: SECRET, token }
      await createClient(service.url)('POST', '/v1/auth/revoke', { body })
    }
  }

  /** All records but the one that only the test itself changes. */
  async function records(): Promise<unknown[]> {
    const { configurations } = (await owner('GET', '/configurations/')).json<{
      configurations: { name: string }[]
    }>()
    return configurations.filter(({ name }) => name !== 'other')
  }

  it('is tried with every route that changes something', () => {
    // The changes of accounts are tried in account-removals.test.ts.
    const isChange = ({ method, access }: (typeof routes)[number]) =>
      method !== 'GET' && access !== 'public' && access !== 'admin'
    const all = routes.filter(isChange).map(({ method, path }) => `${method} ${path}`)
    // A logout ends nothing but the credential that makes it.
    assert.deepEqual([...Object.keys(changes), PASSWORD, 'POST /logout'].sort(), all.sort())
  })

  for (const [route, [path, content]] of Object.entries(changes)) {
    const method = route.split(' ')[0] ?? ''
    const body = content === undefined ? '' : JSON.stringify(content)
    for (const what of [...Object.keys(withdrawals), ENDED]) {
      for (const kind of ['user', 'client'] as const) {
        for (const [moment, share] of body === '' ? [] : moments) {
          it(`changes nothing more: ${route} of a ${kind} when ${what} ${moment}`, async (t) => {
            const caller = await newCaller(kind)
            const before = await records()
            const request = await begin(t, service.url, method, path, caller, body)
            request.sendUpTo(share)
            await withdraw(what, caller)
            request.sendUpTo(1)
            assertRefused(await request.answer(), what, caller)
            assert.deepEqual(await records(), before)
          })
        }

        it(`changes nothing more: ${route} of a ${kind} when ${what} in the queue`, async (t) => {
          const caller = await newCaller(kind)
          const before = await records()
          const submitted = (['submit', 'submitBulk'] as const).map(
            (name) => t.mock.method(Writer.prototype, name).mock,
          )
          const held = holdUp(files, 'datasync', dataFiles.journal)
          const first = owner('PATCH', '/configurations/other', { body: { port: used } })
          t.after(held.release)
          await held.begun
          const request = await begin(t, service.url, method, path, caller, body)
          request.sendUpTo(1)
          await until(() => submitted.reduce((sum, one) => sum + one.callCount(), 0) === 2)
          await withdraw(what, caller)
          held.release()
          assert.equal((await first).status, 200)
          assertRefused(await request.answer(), what, caller)
          assert.deepEqual(await records(), before)
        })
      }
    }
  }

  for (const what of [...Object.keys(withdrawals), ENDED]) {
    const isAllowed = what === SCOPE_TAKEN
    for (const [moment, share] of [...moments, ['in the queue', 1]] as const) {
      it(`${isAllowed ? 'still' : 'no longer'} changes the password when ${what} ${moment}`, async (t) => {
        const caller = await newCaller('user')
        const body = JSON.stringify({ password: SECRET, new_password: NEW_SECRET })
        const request = await begin(t, service.url, 'POST', '/v1/password', caller, body)
        let answer: Promise<RawAnswer> | undefined
        if (moment !== 'in the queue') {
          request.sendUpTo(share)
          await withdraw(what, caller)
          request.sendUpTo(1)
          answer = request.answer()
        } else {
          const { mock: edits } = t.mock.method(OwnedDocument.prototype, 'edit')
          const held = holdUp(files, 'sync', dataFiles.accounts)
          t.after(held.release)
          // The change of the password waits for another change of the accounts, which has begun before it.
          const isOther = what === ENDED
          const before = isOther ? withdraw(SCOPE_TAKEN, await newCaller('user')) : withdraw(what, caller)
          await held.begun
          request.sendUpTo(share)
          answer = request.answer()
          await until(() => edits.callCount() === 2)
          if (isOther) await withdraw(what, caller)
          held.release()
          await before
        }
        if (!isAllowed) assertRefused(await answer, what, caller)
        else assert.equal((await answer).status, 200)
        const asked = { username: caller.name, password: NEW_SECRET }
        assert.equal((await owner('POST', '/login', { body: asked })).status, isAllowed ? 200 : 401)
      })
    }
  }
})
