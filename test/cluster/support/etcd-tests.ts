import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { describe, it } from 'node:test'
import { eventually } from '../../support/eventually.ts'
import { startEtcd } from './etcd.ts'
import { EtcdRefusal } from './etcd-client.ts'
import { asUser, expiringTokens, logInToEtcd, requireLogin, rootUser } from './etcd-login.ts'
import { makeEtcdCertificates, noOpenSsl } from './etcd-tls.ts'
import type { EtcdVersion } from './newer-etcd.ts'

/** What the tests count on when they start an etcd. */
export function testEtcd({ name, skip, etcd: program }: EtcdVersion): void {
  describe(`${name} for tests`, { skip }, () => {
    it('is one cluster, and goes on without its leader', async (t) => {
      const cluster = await startEtcd(t, 3, { program })
      const [one, two, three] = cluster.members
      assert.ok(one && two && three)
      await cluster.client(one).put('/a', 'ü')
      assert.equal((await cluster.client(three).get('/a'))?.value, 'ü')

      const leader = await cluster.leader()
      await leader.kill()
      const left = cluster.members.find((member) => member !== leader) ?? assert.fail()
      await eventually('another one leads', async () => {
        const { leader: next } = await cluster.client(left).status()
        return next !== '0' && (await cluster.leader(left).catch(() => leader)) !== leader
      })
      const revision = await cluster.client(left).put('/b', 'x')
      await leader.start()
      assert.equal(await cluster.client(leader).revision(), revision)
    })

    it('reads its own state without a quorum; started without one, it answers once there is one', async (t) => {
      const cluster = await startEtcd(t, 3, { program })
      const [one, two, three] = cluster.members
      assert.ok(one && two && three)
      const revision = await cluster.client().put('/a', 'x')
      await Promise.all([two.kill(), three.kill()])
      const alone = cluster.client(one).post('/v3/kv/range', { key: 'L2E=', serializable: true })
      assert.equal(Number((await alone).count), 1)
      await one.kill()
      await one.start('listening')
      const asked = cluster.client(one).revision()
      await three.start()
      assert.equal(await asked, revision)
    })

    it('says nothing while it is frozen', async (t) => {
      const cluster = await startEtcd(t, 1, { program })
      const [member] = cluster.members
      assert.ok(member)
      member.freeze()
      const put = cluster.client().put('/a', 'x')
      assert.equal(await Promise.race([put, new Promise((resolve) => setTimeout(resolve, 200))]), undefined)
      member.thaw()
      assert.equal(await put, 2)
    })

    it('reads and changes what is there', async (t) => {
      const client = (await startEtcd(t, 1, { program })).client()
      for (const name of ['/p/a', '/p/b', '/q']) await client.put(name, name)
      const names = async (revision?: number) => (await client.list('/p/', revision)).map(({ key }) => key)
      assert.deepEqual(await names(), ['/p/a', '/p/b'])
      await client.remove('/p/a')
      assert.deepEqual(await names(3), ['/p/a', '/p/b'])
      await client.removeAll('/p/')
      assert.deepEqual([await names(), await client.revision()], [[], 6])
      assert.equal(await client.compact(), 6)
      await client.defragment()
      await assert.rejects(names(3), /compacted/)
    })

    it('ends with its test, and leaves nothing', async () => {
      const ends: (() => void | Promise<void>)[] = []
      const cluster = await startEtcd({ after: (end) => ends.push(end) }, 1, { program })
      for (const end of ends) await end()
      const [member] = cluster.members
      assert.equal(existsSync(member?.dataFolder ?? ''), false)
      await assert.rejects(cluster.client().revision(), { code: 'ECONNREFUSED' })
    })

    it('can have TLS and logins with tokens that expire', { skip: noOpenSsl }, async (t) => {
      const tls = await makeEtcdCertificates(t)
      const cluster = await startEtcd(t, 1, { program, tls, args: await expiringTokens(t, 3) })
      const user = { user: 'connbook', password: 'secret' }
      await requireLogin(cluster.client(), { ...user, prefix: '/connbook/' })
      // Were it not for the certificate, it would be: user name is empty.
      await assert.rejects(cluster.client().put('/connbook/a', 'x'), /permission denied/)
      await asUser(cluster, user, (client) => client.put('/connbook/a', 'x'))
      const elsewhere = asUser(cluster, user, (client) => client.put('/other', 'x'))
      await assert.rejects(elsewhere, /permission denied/)
      await asUser(cluster, rootUser, (root) => root.put('/other', 'x'))
      const early = cluster.client(undefined, await logInToEtcd(cluster.client(), user))
      await eventually('the token has expired', async () => {
        const answer = await early.put('/connbook/a', 'y').catch((error) => error)
        return answer instanceof EtcdRefusal && answer.status === 401
      })
    })

    it('is full at its quota, and can be emptied', async (t) => {
      const cluster = await startEtcd(t, 1, { program, args: ['--quota-backend-bytes', String(1 << 20)] })
      const [client, [member]] = [cluster.client(), cluster.members]
      assert.ok(member)
      const long = 'x'.repeat(100_000)
      await assert.rejects(async () => {
        for (let i = 0; i < 50; i++) await client.put('/a', long)
      }, /database space exceeded/)
      await member.kill()
      await member.start('answering')
      await assert.rejects(client.put('/b', ''), /database space exceeded/)
      await client.compact()
      await client.defragment()
      await client.disarm()
      await client.put('/b', '')
    })
  })
}
