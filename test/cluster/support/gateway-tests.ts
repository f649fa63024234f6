import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, describe, it, type TestContext } from 'node:test'
import { EtcdError, type EtcdReason } from '../../../src/cluster/etcd-error.ts'
import { type EtcdPass, type Gateway, openGateway } from '../../../src/cluster/gateway.ts'
import {
  type Compare,
  type EtcdOperation,
  isAbsent,
  modBelow,
  modIs,
  nested,
  noneIn,
  put,
  read,
  remove,
  valueIs,
  type WatchEvent,
  type WatchMessage,
} from '../../../src/cluster/messages.ts'
import { makeCertificate } from '../../support/certificate.ts'
import { eventually } from '../../support/eventually.ts'
import { type EtcdCluster, PATIENT, startEtcd } from './etcd.ts'
import { asUser, expiringTokens, logInToEtcd, requireLogin, rootUser } from './etcd-login.ts'
import { makeEtcdCertificates, noOpenSsl } from './etcd-tls.ts'
import { fixedPass } from './fixed-pass.ts'
import type { EtcdVersion } from './newer-etcd.ts'

const login = { user: 'connbook', password: 'secret' }

/** A gateway that waits for a slow etcd, and repeats a login or the beginning of a watch for which it does not wait. */
function open(t: TestContext, { urls }: Pick<EtcdCluster, 'urls'>, pass: Partial<EtcdPass> = {}) {
  const gateway = openGateway({ endpoints: urls, source: fixedPass(pass) })
  t.after(() => gateway.close())
  const patient: Gateway = {
    ...gateway,
    get endpoint() {
      return gateway.endpoint
    },
    range: (query, options) => untilSent(() => gateway.range(query, { ...PATIENT, ...options })),
    transact: (transaction, options) =>
      untilSent(() => gateway.transact(transaction, { ...PATIENT, ...options })),
    grantLease: (seconds, options) =>
      untilSent(() => gateway.grantLease(seconds, { ...PATIENT, ...options })),
    async *watch(watched) {
      for (let hasBegun = false; ; )
        try {
          for await (const message of gateway.watch(watched)) {
            hasBegun = true
            yield message
          }
        } catch (error) {
          if (hasBegun || !isLate(error)) throw error
        }
    },
  }
  return patient
}

async function untilSent<Answer>(call: () => Promise<Answer>): Promise<Answer> {
  for (;;)
    try {
      return await call()
    } catch (error) {
      if (!isLate(error) || !error.isUndone) throw error
    }
}

function isLate(error: unknown): error is EtcdError {
  return error instanceof EtcdError && error.reason === 'timed_out'
}

function change(gateway: Gateway, ...success: EtcdOperation[]) {
  return gateway.transact({ compare: [], success, failure: [] })
}

async function holds(gateway: Gateway, ...compare: Compare[]): Promise<boolean> {
  return (await gateway.transact({ compare, success: [], failure: [] })).succeeded
}

function failsWith(reason: EtcdReason, isUndone: boolean) {
  return (error: unknown) => {
    assert.ok(error instanceof EtcdError, String(error))
    assert.deepEqual([error.reason, error.isUndone], [reason, isUndone], error.message)
    assert.doesNotMatch(error.message, /\n/)
    return true
  }
}

/** What a watch reports until it has reported some number of events. */
async function eventsOf(gateway: Gateway, fromRevision: number, count: number, withPrevious = false) {
  const messages: (readonly WatchEvent[])[] = []
  const signal = AbortSignal.timeout(60_000)
  for await (const message of gateway.watch({ key: '/w/', end: '/w0', fromRevision, withPrevious, signal })) {
    if (message.kind === 'events') messages.push(message.events)
    if (messages.flat().length >= count) break
  }
  return messages
}

/** What connbook needs of the gateway of an etcd. */
export function testGateway({ name, skip, etcd: program }: EtcdVersion): void {
  describe(`the gateway of ${name}`, { skip }, async () => {
    const shared = await startEtcd({ after }, 1, { program })

    /** For a test that does nothing to etcd itself. */
    async function openEmpty(t: TestContext) {
      await shared.client().removeAll('/')
      return open(t, shared)
    }

    it('compares as the builders say', async (t) => {
      const gateway = await openEmpty(t)
      await change(gateway, put('/a', 'x'), put('/c', ''))
      const { revision } = await change(gateway, put('/a', 'ü'))
      for (const [compare, expected] of [
        [modIs('/a', revision), true],
        [modIs('/a', revision - 1), false],
        [modIs('/a', 0), false],
        [modIs('/b', 0), true],
        [modIs('/b', revision), false],
        [isAbsent('/b'), true],
        [isAbsent('/a'), false],
        [noneIn('/a', '/b'), false],
        [noneIn('/a', '/d'), false],
        [noneIn('/b', '/c'), true],
        [modBelow('/a', '/d', revision + 1), true],
        [modBelow('/a', '/d', revision), false],
        [modBelow('/b', '/d', revision), true],
        [modBelow('/b', '/d', revision - 1), false],
        [modBelow('/d', '/e', 1), true],
        [valueIs('/a', 'ü'), true],
        [valueIs('/a', 'x'), false],
        [valueIs('/a', ''), false],
        [valueIs('/b', ''), false],
        [valueIs('/c', ''), true],
      ] as const)
        assert.equal(await holds(gateway, compare), expected, compare)
      assert.equal(await holds(gateway), true)
      assert.equal(await holds(gateway, isAbsent('/b'), isAbsent('/a')), false)
    })

    it('puts, reads and removes as the builders say', async (t) => {
      const gateway = await openEmpty(t)
      const first = await change(gateway, put('/a', 'ü'), put('/b', ''), put('/c', '"\n'))
      assert.deepEqual(first.answers, [{ kind: 'put' }, { kind: 'put' }, { kind: 'put' }])
      const all = { key: '/', end: '0' }
      const range = await gateway.range(all)
      const at = { createRevision: first.revision, modRevision: first.revision, version: 1, lease: undefined }
      assert.deepEqual(range, {
        revision: first.revision,
        kvs: [
          { key: '/a', value: 'ü', ...at },
          { key: '/b', value: '', ...at },
          { key: '/c', value: '"\n', ...at },
        ],
        more: false,
        count: 3,
      })
      const second = await change(
        gateway,
        put('/a', 'y'),
        remove('/b', '/d'),
        remove('/d'),
        read({ key: '/a' }),
      )
      assert.deepEqual(second.answers, [
        { kind: 'put' },
        { kind: 'delete', deleted: 2 },
        { kind: 'delete', deleted: 0 },
        {
          kind: 'range',
          range: {
            revision: second.revision,
            kvs: [{ key: '/a', value: 'y', ...at, modRevision: second.revision, version: 2 }],
            more: false,
            count: 1,
          },
        },
      ])
      assert.deepEqual(await gateway.range({ key: '/b' }), {
        revision: second.revision,
        kvs: [],
        more: false,
        count: 0,
      })
      assert.deepEqual(await gateway.range({ ...all, revision: first.revision }), {
        ...range,
        revision: second.revision,
      })
      const limited = await gateway.range({ ...all, revision: first.revision, limit: 2, keysOnly: true })
      assert.deepEqual(
        [limited.kvs.map(({ key, value }) => [key, value]), limited.more, limited.count],
        [
          [
            ['/a', ''],
            ['/b', ''],
          ],
          true,
          3,
        ],
      )
      const counted = await gateway.range({ ...all, countOnly: true, serializable: true })
      assert.deepEqual([counted.kvs, counted.count], [[], 1])
      await change(gateway, put('/b', 'last'), put('/c', 'as well'))
      await change(gateway, put('/b', 'last'))
      const newest = await gateway.range({ ...all, newestOnly: true })
      assert.deepEqual(
        newest.kvs.map(({ key }) => key),
        ['/b'],
      )
    })

    it('does nested transactions, each of which succeeds or fails alone', async (t) => {
      const gateway = await openEmpty(t)
      await change(gateway, put('/taken', 'theirs'))
      const add = (key: string) =>
        nested({ compare: [isAbsent(key)], success: [put(key, 'ours')], failure: [read({ key })] })
      const { succeeded, answers } = await gateway.transact({
        compare: [isAbsent('/new')],
        success: [add('/new'), add('/taken'), nested({ compare: [], success: [add('/deep')], failure: [] })],
        failure: [],
      })
      assert.equal(succeeded, true)
      assert.equal(answers[0]?.kind === 'transaction' && answers[0].transaction.revision, 0)
      const told = answers.map((answer) => {
        if (answer.kind !== 'transaction') return answer.kind
        const { succeeded, answers } = answer.transaction
        const [inner] = answers
        return [succeeded, inner?.kind === 'range' ? inner.range.kvs[0]?.value : inner?.kind]
      })
      assert.deepEqual(told, [
        [true, 'put'],
        [false, 'theirs'],
        [true, 'transaction'],
      ])
      const { kvs } = await gateway.range({ key: '/', end: '0' })
      assert.deepEqual(
        kvs.map(({ key, value }) => `${key} ${value}`),
        ['/deep ours', '/new ours', '/taken theirs'],
      )
    })

    it('grants leases, and refuses those that are not there', async (t) => {
      const gateway = await openEmpty(t)
      const lease = await gateway.grantLease(100)
      await change(gateway, put('/a', 'x', lease))
      assert.equal((await gateway.range({ key: '/a' })).kvs[0]?.lease, lease)
      await assert.rejects(change(gateway, put('/a', 'x', '77')), failsWith('no_lease', true))
    })

    it('reports changes, each revision whole, also those that come in fragments', async (t) => {
      const gateway = await openEmpty(t)
      const { revision } = await change(gateway, put('/w/a', 'x'), put('/w/b', 'x'), put('/other', 'x'))
      await change(gateway, remove('/w/a'), put('/w/b', 'y'))
      const told = (await eventsOf(gateway, revision, 4, true)).flat()
      const at = { createRevision: revision, modRevision: revision, version: 1, lease: undefined }
      const [a, b] = [
        { key: '/w/a', value: 'x', ...at },
        { key: '/w/b', value: 'x', ...at },
      ]
      assert.deepEqual(told.slice(0, 2), [
        { kind: 'put', kv: a, previous: undefined },
        { kind: 'put', kv: b, previous: undefined },
      ])
      assert.deepEqual(told.slice(2), [
        { kind: 'delete', key: '/w/a', modRevision: revision + 1, previous: a },
        { kind: 'put', kv: { ...b, value: 'y', modRevision: revision + 1, version: 2 }, previous: b },
      ])
      const without = (await eventsOf(gateway, revision + 1, 2)).flat()
      assert.deepEqual(
        without.map(({ previous }) => previous),
        [undefined, undefined],
      )

      // A message takes 20 such values, so that it ends within a revision.
      const long = 'x'.repeat(100_000)
      const from = (await gateway.range({ key: '/' })).revision + 1
      for (let i = 0; i < 12; i++)
        await change(gateway, ...Array.from({ length: 7 }, (_, j) => put(`/w/${i}/${j}`, long)))
      const revisions = (await eventsOf(gateway, from, 12 * 7)).map((events) =>
        events.map((event) => {
          assert.ok(event.kind === 'put' && event.kv.value.length === long.length)
          return event.kv.modRevision
        }),
      )
      const each = Array.from({ length: 12 * 7 }, (_, i) => from + Math.floor(i / 7))
      assert.deepEqual(revisions.flat(), each)
      for (const own of revisions) assert.equal(own.length % 7, 0, 'a revision in two messages')
    })

    it('reports what is compacted, to reads and watches', async (t) => {
      const gateway = await openEmpty(t)
      for (let i = 0; i < 5; i++) await change(gateway, put('/w/a', String(i)))
      const compactRevision = await shared.client().compact()
      await assert.rejects(gateway.range({ key: '/w/a', revision: 2 }), failsWith('compacted', true))
      const told: WatchMessage[] = []
      const signal = AbortSignal.timeout(60_000)
      for await (const message of gateway.watch({ key: '/w/', end: '/w0', fromRevision: 2, signal })) {
        told.push(message)
        if (message.kind === 'compacted') break
      }
      assert.deepEqual(told, [
        { kind: 'created', revision: compactRevision },
        { kind: 'compacted', compactRevision },
      ])
    })

    it('refuses what is too large, has too many operations or a name twice: nothing is done', async (t) => {
      const gateway = await openEmpty(t)
      const { revision } = await change(gateway, put('/a', 'x'))
      for (const bytes of [1_600_000, 2_200_000, 9_000_000]) {
        const transaction = { compare: [], success: [put('/a', 'x'.repeat(bytes))], failure: [] }
        await assert.rejects(gateway.transact(transaction), failsWith('too_large', true))
      }
      const many = Array.from({ length: 129 }, (_, i) => put(`/${i}`, ''))
      await assert.rejects(change(gateway, ...many), failsWith('too_large', true))
      await assert.rejects(change(gateway, put('/a', ''), put('/a', '')), failsWith('unexpected', true))
      assert.equal((await gateway.range({ key: '/a' })).revision, revision)
    })

    it('reads an answer of 16 MiB', async (t) => {
      const gateway = await openEmpty(t)
      const value = 'ü'.repeat(256 * 1024)
      await Promise.all(Array.from({ length: 24 }, (_, i) => change(gateway, put(`/${i}`, value))))
      const { kvs } = await gateway.range({ key: '/', end: '0' })
      assert.equal(kvs.filter((kv) => kv.value === value).length, 24)
    })

    it('says that etcd is full, and that there is room again', async (t) => {
      const args = ['--quota-backend-bytes', String(1 << 20)]
      const cluster = await startEtcd(t, 1, { program, args })
      const gateway = open(t, cluster)
      const fill = async () => {
        for (let i = 0; i < 50; i++) await change(gateway, put('/a', 'x'.repeat(100_000)))
      }
      await assert.rejects(fill(), failsWith('no_space', true))
      await assert.rejects(change(gateway, put('/b', '')), failsWith('no_space', true))
      assert.equal((await gateway.range({ key: '/a' })).count, 1)
      await cluster.client().compact()
      await cluster.client().defragment()
      await cluster.client().disarm()
      await change(gateway, put('/b', ''))
    })

    it('goes on at the next member when one is frozen or gone', async (t) => {
      const cluster = await startEtcd(t, 3, { program })
      const gateway = open(t, cluster)
      await change(gateway, put('/a', 'x'))
      const inUse = () => cluster.members.findIndex(({ url }) => url === gateway.endpoint)
      const othersAnswer = () =>
        eventually('the others have a leader', async () => {
          const answer = await gateway.range({ key: '/a' }, { attemptMs: 1_000 }).catch(() => undefined)
          return answer !== undefined
        })
      const first = inUse()
      const frozen = cluster.members[first] ?? assert.fail()
      frozen.freeze()
      const transaction = { compare: [], success: [put('/a', 'y')], failure: [] }
      await assert.rejects(gateway.transact(transaction, { attemptMs: 1_000 }), failsWith('timed_out', false))
      assert.equal(inUse(), (first + 1) % 3)
      await othersAnswer()
      frozen.thaw()
      await eventually(
        'all are there',
        async () => (await cluster.leader(frozen).catch(() => undefined)) !== undefined,
      )
      const used = cluster.members[inUse()] ?? assert.fail()
      await used.kill()
      await othersAnswer()
      assert.notEqual(gateway.endpoint, used.url)
      for (const member of cluster.members) await member.kill()
      await assert.rejects(change(gateway, put('/a', 'z')), failsWith('unreachable', true))
    })

    it('says that there is no quorum, also to a watch that runs', async (t) => {
      const cluster = await startEtcd(t, 3, { program })
      const [one, two, three] = cluster.members
      assert.ok(one && two && three)
      const gateway = open(t, { urls: [one.url] })
      const signal = AbortSignal.timeout(60_000)
      const watch = gateway.watch({ key: '/w/', end: '/w0', fromRevision: 1, signal })[Symbol.asyncIterator]()
      assert.equal((await watch.next()).value?.kind, 'created')
      const next = watch.next()
      two.freeze()
      three.freeze()
      await assert.rejects(next, failsWith('unavailable', true))
      await assert.rejects(change(gateway, put('/a', '')), failsWith('unavailable', true))
      await assert.rejects(gateway.range({ key: '/a' }), failsWith('unavailable', true))
    })

    it('lets in by user and password, with tokens that end', async (t) => {
      const args = noOpenSsl ? [] : await expiringTokens(t, 3)
      const cluster = await startEtcd(t, 1, { program, args })
      const [gateway, stranger] = [open(t, cluster, { login }), open(t, cluster)]
      // Authentication is off still.
      const { revision } = await change(gateway, put('/w/a', '1'))
      await requireLogin(cluster.client(), { ...login, prefix: '/w/' })
      await change(gateway, put('/w/a', '2'))
      await assert.rejects(change(gateway, put('/other', '')), failsWith('denied', true))
      await assert.rejects(change(stranger, put('/w/a', '')), failsWith('login_failed', true))
      await assert.rejects(eventsOf(stranger, 1, 1), failsWith('login_failed', true))
      const wrong = open(t, cluster, { login: { ...login, password: 'wrong' } })
      await assert.rejects(change(wrong, put('/w/a', '')), failsWith('login_failed', true))
      await assert.rejects(eventsOf(wrong, 1, 1), failsWith('login_failed', true))

      // A signed token is of one revision of users and roles.
      await asUser(cluster, rootUser, (root) => root.post('/v3/auth/role/add', { name: 'another' }))
      assert.equal((await eventsOf(gateway, revision, 2)).flat().length, 2)
      await change(gateway, put('/w/a', '3'))
      const token = await logInToEtcd(cluster.client(), login)
      const other = cluster.client(undefined, token)
      if (noOpenSsl === false)
        await eventually('tokens of that age have ended', async () =>
          other.get('/w/a').then(
            () => false,
            () => true,
          ),
        )
      assert.equal((await eventsOf(gateway, revision, 3)).flat().length, 3)
      await change(gateway, put('/w/a', '4'))

      await asUser(cluster, rootUser, (root) => root.post('/v3/auth/disable', {}))
      await change(gateway, put('/other', ''))
      await change(stranger, put('/w/a', '5'))
    })

    it('lets in with a token of another start of etcd', async (t) => {
      const cluster = await startEtcd(t, 1, { program })
      const [member = assert.fail()] = cluster.members
      await requireLogin(cluster.client(), { ...login, prefix: '/w/' })
      const gateway = open(t, cluster, { login })
      await change(gateway, put('/w/a', ''))
      await member.kill()
      await member.start('answering')
      await change(gateway, put('/w/a', ''))
    })

    it('lets in by certificate, unless that has a CommonName', { skip: noOpenSsl }, async (t) => {
      const certificates = await makeEtcdCertificates(t)
      const { ca, cert, key } = certificates.client
      const { certPath, keyPath } = certificates.namedFiles
      const cluster = await startEtcd(t, 1, { program, tls: certificates })
      const tls = { ca, certificate: cert, key }
      const other = await makeCertificate(t)
      const named = { ca, certificate: readFileSync(certPath, 'utf8'), key: readFileSync(keyPath, 'utf8') }
      await change(open(t, cluster, { tls }), put('/w/a', ''))
      await change(open(t, cluster, { tls: named }), put('/w/a', ''))
      for (const [wrong, message] of [
        [
          { ca, certificate: other.cert, key: other.key },
          /; it does not take the client certificate: check /,
        ],
        [{ ca }, /; it wants a client certificate: give --etcd-cert and --etcd-key$/],
        [{ certificate: cert, key }, /: [^;]+; give the authority of its certificate with --etcd-ca$/],
      ] as const) {
        const refused = change(open(t, cluster, { tls: wrong }), put('/w/a', ''))
        await assert.rejects(refused, failsWith('tls', true))
        await assert.rejects(refused, { message })
      }

      await requireLogin(cluster.client(), { ...login, prefix: '/w/' })
      await change(open(t, cluster, { tls, login }), put('/w/a', ''))
      await assert.rejects(
        change(open(t, cluster, { tls }), put('/w/a', '')),
        failsWith('login_failed', true),
      )
      await assert.rejects(eventsOf(open(t, cluster, { tls }), 1, 1), failsWith('login_failed', true))
      for (const options of [{ tls: named }, { tls: named, login }]) {
        const gateway = open(t, cluster, options)
        await assert.rejects(change(gateway, put('/w/a', '')), failsWith('common_name', true))
        await assert.rejects(eventsOf(gateway, 1, 1), failsWith('common_name', true))
      }
    })
  })
}
