import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { chmod, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { EtcdFiles } from '../../src/cluster/etcd-files.ts'
import { UsageError } from '../../src/errors.ts'
import { makeCertificate, replaceFile } from '../support/certificate.ts'
import { createMemoryLog } from '../support/memory-log.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const none = {
  ...{ etcdCa: undefined, etcdCert: undefined, etcdKey: undefined },
  ...{ etcdUser: undefined, etcdPasswordFile: undefined },
}

describe('the password of the user of etcd', () => {
  it('is another one once the file says so', async (t) => {
    const { files, log, path, write } = await setUpPassword(t)
    const { pass } = files
    assert.deepEqual(pass.login, { user: 'book', password: 'first', file: path })
    files.renew()
    assert.equal(files.pass, pass)
    assert.deepEqual(log.events, [])
    await write('second')
    files.renew()
    assert.equal(files.pass.login?.password, 'second')
    const [line = ''] = log.lines
    assert.deepEqual([log.events, JSON.parse(line).files], [['cluster_files_reloaded'], path])
  })

  it('stays in use while the file cannot be used, which is logged once in a row', async (t) => {
    const { files, log, path, write } = await setUpPassword(t)
    const isRefused = (reason: RegExp) => {
      for (let i = 0; i < 3; i++) files.renew()
      const { level, files: named, ...line } = JSON.parse(log.lines.at(-1) ?? '')
      assert.deepEqual([level, named, line.in_force], ['error', path, 'what was read before'])
      assert.match(line.reason, reason)
      assert.equal(files.pass.login?.password, 'first')
    }
    await write('')
    isRefused(/^Cannot use --etcd-password-file ".+": it is empty; /)
    await rm(path)
    isRefused(/^Cannot use --etcd-password-file ".+": there is no such file \(ENOENT\); /)
    await write('second')
    await chmod(path, 0o644)
    isRefused(/^Cannot use --etcd-password-file ".+": others can get at it /)
    assert.equal(log.lines.length, 3)
    await chmod(path, 0o600)
    files.renew()
    assert.equal(files.pass.login?.password, 'second')
  })

  it('is read again on demand, and the log says so whether or not it is another one', async (t) => {
    const { files, log, write } = await setUpPassword(t)
    files.reload?.()
    await write('')
    files.reload?.()
    files.reload?.()
    const failed = 'cluster_files_reload_failed'
    assert.deepEqual(log.events, ['cluster_files_reloaded', failed, failed])
  })
})

describe('the certificates for etcd', () => {
  it('are other ones once all of their files fit each other', async (t) => {
    const [old, next] = [await makeCertificate(t), await makeCertificate(t)]
    const log = createMemoryLog()
    const options = { ...none, etcdCa: old.certPath, etcdCert: old.certPath, etcdKey: old.keyPath }
    const files = new EtcdFiles(options, log)
    await replaceFile(old.certPath, next.certPath)
    files.renew()
    assert.equal(files.pass.tls.certificate, old.cert)
    await replaceFile(old.keyPath, next.keyPath)
    files.renew()
    const { ca, certificate, key } = files.pass.tls
    assert.deepEqual([ca, certificate, key], [next.cert, next.cert, next.key])
    assert.deepEqual(log.events, ['cluster_files_reload_failed', 'cluster_files_reloaded'])
    const [failed = ''] = log.lines
    assert.equal(JSON.parse(failed).files, [old.certPath, old.certPath, old.keyPath].join(', '))
  })

  it('must fit each other from the start', async (t) => {
    const [one, other] = [await makeCertificate(t), await makeCertificate(t)]
    const options = { ...none, etcdCert: one.certPath, etcdKey: other.keyPath }
    assert.throws(() => new EtcdFiles(options, undefined), UsageError)
  })
})

it('has nothing to read again without files', () => {
  assert.equal(new EtcdFiles(none, createMemoryLog()).reload, undefined)
})

async function setUpPassword(t: TestContext) {
  const path = join(await temporaryFolder(t), 'password')
  const write = (password: string) => writeFile(path, password, { mode: 0o600 })
  await write('first')
  const log = createMemoryLog()
  return {
    files: new EtcdFiles({ ...none, etcdUser: 'book', etcdPasswordFile: path }, log),
    log,
    path,
    write,
  }
}
