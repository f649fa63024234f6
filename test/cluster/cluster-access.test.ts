import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, it } from 'node:test'
import { accessCluster } from '../../src/cluster/cluster-access.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

describe('the password of the user of etcd', () => {
  it('is the line in its file, without a byte order mark and the line end', async (t) => {
    const sent: unknown[] = []
    const server = createServer(async (request, response) => {
      sent.push(JSON.parse(await text(request)))
      response.writeHead(400).end('{"code":3,"message":"etcdserver: authentication failed"}')
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.after(() => server.close())
    const { port } = server.address() as AddressInfo
    const folder = await temporaryFolder(t)
    const write = async (name: string, content: string) => {
      await writeFile(join(folder, name), content, { mode: 0o600 })
      return join(folder, name)
    }
    const etcdKeyFile = await write('key', 'ab'.repeat(32))
    for (const [content, password] of [
      ['\ufeffof etcd\r\n', 'of etcd'],
      [' of etcd \n\n', ' of etcd \n'],
    ] as const) {
      const etcdPasswordFile = await write('password', content)
      using access =
        accessCluster({
          ...{ etcd: [`http://127.0.0.1:${port}`], etcdPrefix: '/connbook/', etcdPlain: false },
          ...{ etcdCa: undefined, etcdCert: undefined, etcdKey: undefined },
          ...{ etcdUser: 'connbook', etcdPasswordFile, etcdKeyFile },
        }) ?? assert.fail('no cluster')
      await assert.rejects(access.gateway.grantLease(1))
      assert.deepEqual(sent.splice(0), [{ name: 'connbook', password }])
    }
  })
})
