import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chmod, mkdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import { logIn } from '../support/api.ts'
import { createClient, namesIn } from '../support/http-client.ts'
import { noNamespaces } from '../support/namespace.ts'
import { admin, firstStartEnvironment } from '../support/service.ts'
import { draft } from '../support/store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { makeRoot, startContainer } from './bare-container.ts'
import { readImage } from './dockerfile.ts'
import { readDeployment } from './manifest.ts'

describe('the manifest of the manual', () => {
  it('has probes that the server answers, and a volume that it can use again', {
    skip: noNamespaces,
  }, async (t) => {
    const { container, environment } = readDeployment()
    const image = readImage()
    const root = await makeRoot(t, image, ['/data/'])
    const volume = join(await temporaryFolder(t), 'volume')
    await mkdir(volume)
    // What fsGroup does to the root of an empty volume.
    await chmod(volume, 0o2770)
    const start = () =>
      startContainer(t, root, image, {
        mounts: { '/data': volume },
        environment: { ...firstStartEnvironment, ...environment },
      })

    const first = await start()
    assert.ok('url' in first, 'stderr' in first ? first.stderr : '')
    const ask = createClient(first.url, await logIn(first.url, admin))
    for (const { httpGet } of [container.startupProbe, container.livenessProbe]) {
      assert.equal(httpGet.port, 'http')
      assert.equal((await createClient(first.url)('GET', httpGet.path)).status, 200)
    }
    assert.equal(container.livenessProbe.httpGet.path, '/healthz')
    assert.equal(container.readinessProbe, undefined)
    assert.equal((await ask('POST', '/configurations/', { body: draft('kept') })).status, 200)
    assert.match(await first.execute([...image.entrypoint, 'user', 'list']), /^admin\b/)
    assert.equal(await first.terminate(), 0)

    const data = join(volume, (environment.CONNBOOK_DATA ?? '').replace('/data/', ''))
    assert.equal((await stat(data)).mode & 0o777, 0o700)
    const second = await start()
    assert.ok('url' in second, 'stderr' in second ? second.stderr : '')
    const list = await createClient(second.url, await logIn(second.url, admin))('GET', '/configurations/')
    assert.deepEqual(namesIn(list), ['kept'])
    assert.equal(await second.terminate(), 0)

    // What fsGroup does at each mount without fsGroupChangePolicy.
    await promisify(execFile)('chmod', ['-R', 'g+rwX', volume])
    const refused = await start()
    assert.ok('code' in refused, 'it has started')
    assert.match(refused.stderr, /others can get at it/)
  })
})
