import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { copyFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { replaceFile } from '../support/certificate.ts'
import { eventually } from '../support/eventually.ts'
import { createClient } from '../support/http-client.ts'
import type { TestService } from '../support/service.ts'
import { draft } from '../support/store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { type EtcdCluster, missingEtcd, startEtcd } from './support/etcd.ts'
import { asUser, requireLogin, rootUser } from './support/etcd-login.ts'
import { type EtcdCertificates, makeEtcdCertificates, noOpenSsl } from './support/etcd-tls.ts'
import { nodePlace, startNode } from './support/node.ts'
import { startNodeProcess } from './support/node-process.ts'

const user = { user: 'book', password: 'first' }
const skip = missingEtcd || noOpenSsl

describe('a node whose password for etcd was changed', { skip: missingEtcd }, () => {
  it('is let in again once its file has the new one', async (t) => {
    const { cluster, place, flags, file } = await setUpLogin(t)
    const node = await startNode(t, place, { flags })
    const put = await putter(node)
    assert.equal(await put('a'), 200)
    const changed = { ...user, password: 'second' }
    await changePassword(cluster, changed.password)
    assert.equal(await put('b'), 503)
    const refused = await lineOf(node, 'cluster_disconnected')
    assert.match(String(refused.reason), /authentication failed.*; give the right --etcd-user, or write /)
    assert.ok(String(refused.reason).includes(`"${file}", which is read again`))

    await writeFile(file, changed.password, { mode: 0o600 })
    await eventually('it is let in', async () => (await put('c')) === 200)
    assert.equal((await lineOf(node, 'cluster_files_reloaded')).files, file)
    await lineOf(node, 'cluster_reconnected')
  })

  it('is never refused if its file has the new one first', async (t) => {
    const { cluster, place, flags, file } = await setUpLogin(t)
    const node = await startNode(t, place, { flags })
    const put = await putter(node)
    await writeFile(file, 'second', { mode: 0o600 })
    assert.equal(await put('a'), 200)
    await changePassword(cluster, 'second')
    assert.equal(await put('b'), 200)
  })

  it('reads the file at SIGHUP', async (t) => {
    const { place, flags, file } = await setUpLogin(t)
    const node = await startNodeProcess(t, place, { flags })
    node.signal('SIGHUP')
    await eventually('it has read it', () => node.log().includes('"event":"cluster_files_reloaded"'))
    await writeFile(file, '\n')
    node.signal('SIGHUP')
    await eventually('it says what is wrong', () => node.log().includes('cluster_files_reload_failed'))
    assert.ok(node.log().includes(file))
    assert.doesNotMatch(node.log(), /reload_ignored/)
    assert.equal(await node.stop(), 0)
  })
})

describe('a node of an etcd with certificates of another authority', { skip }, () => {
  it('is let in again once its files have the new ones', async (t) => {
    const [old, next] = [await makeEtcdCertificates(t), await makeEtcdCertificates(t)]
    const cluster = await startEtcd(t, 1, { tls: old })
    const [member = assert.fail()] = cluster.members
    const files = await copiesOf(t, old)
    const flags = ['--etcd-ca', files.ca, '--etcd-cert', files.cert, '--etcd-key', files.key]
    const node = await startNode(t, await nodePlace(t, cluster.urls), { flags })
    const put = await putter(node)
    assert.equal(await put('a'), 200)

    await member.kill()
    // The member reads them at its start.
    for (const [from, to] of pairsOf(next, old)) await copyFile(from, to)
    await member.start('listening')
    const naming = (line: string) => line.includes('cluster_disconnected') && line.includes(files.ca)
    await eventually('it names the file', () => node.log.lines.some(naming))

    await replaceFile(files.ca, next.caPath)
    await replaceFile(files.cert, next.clientFiles.certPath)
    await replaceFile(files.key, next.clientFiles.keyPath)
    await eventually('it is let in', async () => (await put('c')) === 200)
    assert.ok(node.log.events.includes('cluster_files_reloaded'))
  })
})

/** An etcd with authentication, and a user for nodes whose password is in a file. */
async function setUpLogin(t: TestContext) {
  const cluster = await startEtcd(t)
  const place = await nodePlace(t, cluster.urls)
  await requireLogin(cluster.client(), { ...user, prefix: place.prefix })
  const file = join(await temporaryFolder(t), 'password')
  await writeFile(file, user.password, { mode: 0o600 })
  return { cluster, place, file, flags: ['--etcd-user', user.user, '--etcd-password-file', file] }
}

function changePassword(cluster: EtcdCluster, password: string) {
  return asUser(cluster, rootUser, (root) =>
    root.post('/v3/auth/user/changepw', { name: user.user, password }),
  )
}

/** Sends a change of a record, and gives the status. */
async function putter(node: TestService) {
  const ask = createClient(node.url, { Authorization: await node.bearer() })
  return async (name: string) => (await ask('POST', '/configurations/', { body: draft(name) })).status
}

/** The next line of an event in the log. */
async function lineOf({ log }: TestService, event: string): Promise<Record<string, unknown>> {
  await eventually(event, () => log.events.includes(event))
  return JSON.parse(log.lines[log.events.indexOf(event)] ?? '')
}

/** Files of a node that are its own, so that they are renewed later than those of etcd. */
async function copiesOf(t: TestContext, { caPath, clientFiles }: EtcdCertificates) {
  const folder = await temporaryFolder(t)
  const [ca, cert, key] = [join(folder, 'ca'), join(folder, 'cert'), join(folder, 'key')]
  for (const [from, to] of [
    [caPath, ca],
    [clientFiles.certPath, cert],
    [clientFiles.keyPath, key],
  ] as const)
    await copyFile(from, to)
  return { ca, cert, key }
}

/** Each file of a member, as one that is given for another. */
function pairsOf(from: EtcdCertificates, to: EtcdCertificates): (readonly [from: string, to: string])[] {
  return from.serverArgs.flatMap((file, i) =>
    file.startsWith('--') ? [] : [[file, to.serverArgs[i] ?? ''] as const],
  )
}
