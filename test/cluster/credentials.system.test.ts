import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { AccountAdministration } from '../../src/auth/account-administration.ts'
import { addAccount, findAccount, noAccounts } from '../../src/auth/accounts.ts'
import { accountsForm } from '../../src/auth/accounts-file.ts'
import { RememberedClock } from '../../src/auth/clock.ts'
import { rotateKeys } from '../../src/auth/key-rotation.ts'
import { createKey, keysForm } from '../../src/auth/keys.ts'
import { LiveAccounts } from '../../src/auth/live-accounts.ts'
import { ClusterRefusedError } from '../../src/cluster/cluster-error.ts'
import { ClusterKeys } from '../../src/cluster/cluster-keys.ts'
import { EtcdDocument } from '../../src/cluster/etcd-document.ts'
import { EtcdRevocations } from '../../src/cluster/etcd-revocations.ts'
import { type Gateway, openGateway } from '../../src/cluster/gateway.ts'
import { put, remove, type WatchEvent } from '../../src/cluster/messages.ts'
import { RevokedKeys } from '../../src/cluster/revoked-keys.ts'
import { Sealer, WrongKeyFileError } from '../../src/cluster/sealed-text.ts'
import { StorageFullError } from '../../src/errors.ts'
import type { Request } from '../../src/http/message.ts'
import { ADMIN_SCOPE } from '../../src/http/scope.ts'
import { holdClock } from '../support/held-clock.ts'
import { createMemoryLog } from '../support/memory-log.ts'
import { requestOf } from '../support/message.ts'
import { createRandom } from '../support/random.ts'
import { missingEtcd, PATIENT, startEtcd } from './support/etcd.ts'
import { startEtcdProxy } from './support/etcd-proxy.ts'

const NOW = 1_800_000_000
const sealer = new Sealer(Buffer.alloc(32, 1), '/etc/key')
const one = addAccount(noAccounts, 'user', 'one', 'sha256:1')

const keys = new ClusterKeys('/connbook/')

/** An etcd with the accounts `one` and a key, and a way for nodes to use it. */
async function setUp(t: TestContext, args: readonly string[] = []) {
  const { members } = await startEtcd(t, 1, { args })
  const [member = assert.fail()] = members
  const open = (at = member.url) => {
    const gateway = openGateway({ endpoints: [at] })
    t.after(() => gateway.close())
    return gateway
  }
  const here = documentsOf(open())
  await run(here.gateway, put(keys.accounts, here.accounts.encode(one)))
  await run(here.gateway, put(keys.signingKeys, here.signing.encode([createKey(NOW, 60)])))
  return { member, open, ...here }
}

function documentsOf(gateway: Gateway, sealing = sealer) {
  return {
    gateway,
    accounts: new EtcdDocument({ gateway, key: keys.accounts, name: 'accounts', form: accountsForm }),
    signing: new EtcdDocument({
      gateway,
      key: keys.signingKeys,
      name: 'keys',
      form: keysForm,
      sealer: sealing,
    }),
  }
}

async function run(gateway: Gateway, operation: string): Promise<number> {
  const transaction = { compare: [], success: [operation], failure: [] }
  return (await gateway.transact(transaction, PATIENT)).revision
}

/** Hands all events of a prefix over, from now on, and says when something has happened. */
async function watch(gateway: Gateway, take: (event: WatchEvent) => void) {
  const { revision } = await gateway.range({ key: keys.meta }, PATIENT)
  const closed = new AbortController()
  const heard = new Set<() => void>()
  const watching = (async () => {
    const { key, end } = keys.all
    const signal = closed.signal
    for await (const message of gateway.watch({ key, end, fromRevision: revision + 1, signal })) {
      if (message.kind !== 'events') continue
      for (const event of message.events) take(event)
      for (const look of heard) look()
    }
  })().catch((error: unknown) => {
    if (!closed.signal.aborted) throw error
  })
  return {
    /** Before etcd ends, which the watch would take for a failure. */
    end(): Promise<void> {
      closed.abort()
      return watching
    },
    until(isTrue: () => boolean): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>()
      const look = () => {
        if (isTrue()) resolve()
      }
      heard.add(look)
      look()
      return promise
    },
  }
}

describe('accounts and keys in etcd', { skip: missingEtcd }, () => {
  it('lose no change of two nodes that change them at once; each takes up all', async (t) => {
    const { open, accounts } = await setUp(t)
    const there = documentsOf(open())
    const log = createMemoryLog()
    const live = new LiveAccounts({ accounts, initial: undefined, commandOf: String }, one, log)
    const { until, end } = await watch(open(), (event) => accounts.take(event))
    const names = Array.from({ length: 20 }, (_, i) => `n${i}`)
    await Promise.all(
      names.map((name, i) =>
        (i % 2 ? accounts : there.accounts).edit((found) => addAccount(found, 'user', name, 'sha256:x')),
      ),
    )
    const stored = await there.accounts.read()
    assert.deepEqual(stored.users.map(({ name }) => name).sort(), ['one', ...names].sort())
    assert.equal(new Set(stored.users.map(({ generation }) => generation)).size, names.length + 1)
    await until(() => names.every((name) => live.find('user', name) !== undefined))
    await end()
  })

  it('end all credentials of an account once, from whichever node', async (t) => {
    const { open, accounts } = await setUp(t)
    const nodes = [accounts, documentsOf(open()).accounts].map(
      (document) =>
        new LiveAccounts(
          { accounts: document, initial: undefined, commandOf: String },
          one,
          createMemoryLog(),
        ),
    )
    const ended = await Promise.all(nodes.map((node) => node.endCredentials('user', 'one', 1)))
    assert.deepEqual(ended.sort(), [false, true])
    for (const node of nodes) assert.equal(node.find('user', 'one')?.generation, 2)
  })

  it('keep one of two admins who remove each other at two nodes', async (t) => {
    const { open, accounts } = await setUp(t)
    const both = ['one', 'two'].reduce(
      (found, name) => addAccount(found, 'user', name, 'sha256:x', ADMIN_SCOPE),
      noAccounts,
    )
    await accounts.edit(() => both)
    const removals = [accounts, documentsOf(open()).accounts].map((document, i) => {
      const live = new LiveAccounts(
        { accounts: document, initial: undefined, commandOf: String },
        both,
        createMemoryLog(),
      )
      const administration = new AccountAdministration({
        accounts: live,
        revocations: { dropGeneration: () => {} },
        audit: { record: async () => {} },
        commandOf: String,
      })
      const [caller = '', other = ''] = i === 0 ? ['one', 'two'] : ['two', 'one']
      const request = {
        ...requestOf({}),
        checkAgain: () => assert.ok(live.find('user', caller) !== undefined, 'the caller has gone'),
      } as unknown as Request
      return () => administration.remove(request, 'user', other, undefined)
    })
    const outcomes = await Promise.allSettled(removals.map((remove) => remove()))
    assert.deepEqual(outcomes.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
    assert.equal((await accounts.read()).users.length, 1)
  })

  it('are not changed, and say that there is no room, when they would be more than etcd takes at once', async (t) => {
    const { accounts } = await setUp(t, ['--max-request-bytes', '65536'])
    const count = 500
    const users = Array.from({ length: count }, (_, i) => ({
      ...{ name: `user-${i}`, secret: `sha256:${'x'.repeat(100)}`, generation: i + 1 },
    }))
    const all = { lastGeneration: count, users, clients: [] }
    await assert.rejects(
      accounts.edit(() => all),
      (error) => {
        assert.ok(error instanceof StorageFullError)
        return error.message.includes('--max-request-bytes')
      },
    )
    assert.deepEqual(await accounts.read(), one)
  })

  it('are changed once each when answers and requests are lost', async (t) => {
    const { open, member, accounts } = await setUp(t)
    const proxy = await startEtcdProxy(t, member.url)
    const there = documentsOf(open(proxy.url)).accounts
    const losses = ['after', undefined, 'before', 'after', undefined] as const
    let count = 0
    proxy.rewrite((path, body) => {
      const when = path === '/v3/kv/txn' ? losses[count++ % losses.length] : undefined
      proxy.lose(when && { share: 1, random: createRandom(), when })
      return body
    })
    const names = Array.from({ length: 10 }, (_, i) => `n${i}`)
    for (const name of names) {
      const mine = there.edit((found) => addAccount(found, 'user', name, `sha256:${name}`))
      const others = accounts.edit((found) => addAccount(found, 'client', name, 'sha256:x'))
      await Promise.all([mine, others])
    }
    assert.ok(count > names.length, `${count} transactions`)
    const stored = await accounts.read()
    for (const name of names)
      assert.equal(stored.users.filter((account) => account.name === name).length, 1, name)
    assert.deepEqual([stored.users.length, stored.clients.length], [11, 10])
    assert.equal(stored.lastGeneration, 21)
  })

  it('are changed although the only member ends meanwhile, and begins again', async (t) => {
    const { member, gateway, accounts } = await setUp(t)
    await member.kill()
    const floor = new RememberedClock(holdClock().make(), 0, async () => {}, createMemoryLog())
    const revocations = new EtcdRevocations(new RevokedKeys(gateway, keys), floor)
    const changes = Promise.all([
      accounts.edit((found) => addAccount(found, 'user', 'two', 'sha256:2')),
      revocations.add('a.1', floor.clock.now() / 1000 + 60),
    ])
    await member.start()
    await changes
    assert.ok(findAccount(await accounts.read(), 'user', 'two') !== undefined)
    assert.equal((await gateway.range(keys.revoked, PATIENT)).count, 1)
  })

  it('rotate the keys, which nobody can read without the key file', async (t) => {
    const { gateway, open, signing } = await setUp(t)
    const { after: rotated } = await signing.edit((found) => rotateKeys(found, NOW))
    const [kv = assert.fail()] = (await gateway.range({ key: keys.signingKeys }, PATIENT)).kvs
    for (const { secret } of rotated) assert.ok(!kv.value.includes(secret))
    assert.deepEqual(await documentsOf(open()).signing.read(), rotated)

    const other = documentsOf(open(), new Sealer(Buffer.alloc(32, 2), '/etc/other')).signing
    await assert.rejects(other.read(), WrongKeyFileError)
    await assert.rejects(
      other.edit((found) => rotateKeys(found, NOW)),
      WrongKeyFileError,
    )
    assert.deepEqual(await signing.read(), rotated)
  })

  it('refuse what somebody else wrote or removed', async (t) => {
    const { gateway, accounts } = await setUp(t)
    await run(gateway, put(keys.accounts, '{"format":"connbook accounts"}'))
    await assert.rejects(accounts.read(), ClusterRefusedError)
    await run(gateway, remove(keys.accounts))
    await assert.rejects(
      accounts.edit(() => one),
      ClusterRefusedError,
    )
  })

  it('are read by another node as they were written', async (t) => {
    const { open, accounts } = await setUp(t)
    await accounts.edit((found) => addAccount(found, 'client', 'ä 𝄞', 'sha256:x', 'read'))
    const found = await documentsOf(open()).accounts.read()
    assert.equal(findAccount(found, 'client', 'ä 𝄞')?.scope, 'read')
  })

  it('have a revocation until its lease ends, and nodes remember it for as long as it matters', async (t) => {
    const { open, gateway } = await setUp(t)
    const held = holdClock()
    const floor = () => new RememberedClock(held.make(), 0, async () => {}, createMemoryLog())
    const times = { spanSeconds: 1, marginSeconds: 1 }
    const [here, there] = [gateway, open()].map(
      (through) => new EtcdRevocations(new RevokedKeys(through, keys, times), floor()),
    )
    assert.ok(here !== undefined && there !== undefined)
    let gone = 0
    const leases = new Map<string, string | undefined>()
    const { until, end } = await watch(open(), (event) => {
      there.take([event])
      if (event.kind === 'put') leases.set(event.kv.key, event.kv.lease)
      else gone += 1
    })
    const exp = held.wall / 1000 + 1
    await Promise.all(['a.1', 'b.1'].map((jti) => here.add(jti, exp)))
    assert.deepEqual([here.has('a.1'), here.has('b.1')], [true, true])
    await until(() => there.has('a.1') && there.has('b.1'))
    assert.deepEqual([leases.size, new Set(leases.values()).size], [2, 1])
    // By the clock of this node the token has not expired yet.
    await until(() => gone === 2)
    assert.deepEqual([there.has('a.1'), (await gateway.range(keys.revoked, PATIENT)).count], [true, 0])
    // The lease is gone, too; another one is granted.
    await here.add('c.1', exp)
    await until(() => there.has('c.1'))
    assert.equal(new Set(leases.values()).size, 2)
    await end()
  })
})

describe('accounts in an etcd that is full', { skip: missingEtcd }, () => {
  it('are not changed, and the error says so', async (t) => {
    const { gateway, accounts } = await setUp(t, ['--quota-backend-bytes', String(1024 * 1024)])
    const fill = async () => {
      for (;;) await run(gateway, put(`${keys.prefix}filler`, 'x'.repeat(100_000)))
    }
    await assert.rejects(fill(), { reason: 'no_space' })
    await assert.rejects(
      accounts.edit((found) => addAccount(found, 'user', 'two', 'sha256:2')),
      (error) => {
        assert.ok(error instanceof StorageFullError)
        return error.message.includes('its database is full')
      },
    )
    const held = holdClock()
    const floor = new RememberedClock(held.make(), 0, async () => {}, createMemoryLog())
    const revocations = new EtcdRevocations(new RevokedKeys(gateway, keys), floor)
    await assert.rejects(revocations.add('a.1', held.wall / 1000 + 60), StorageFullError)
    assert.equal(revocations.has('a.1'), false)
    assert.deepEqual(await accounts.read(), one)
  })
})
