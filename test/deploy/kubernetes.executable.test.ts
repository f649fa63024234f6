import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chmod, mkdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import { parseAllDocuments } from 'yaml'
import { parseCommandLine } from '../../src/command-line/command-line.ts'
import { serverFlags } from '../../src/command-line/options.ts'
import { readBlock } from '../manual/published.ts'
import { logIn } from '../support/api.ts'
import { createClient, namesIn } from '../support/http-client.ts'
import { noNamespaces } from '../support/namespace.ts'
import { admin, firstStartEnvironment } from '../support/service.ts'
import { draft } from '../support/store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { makeRoot, startContainer } from './bare-container.ts'
import { readImage } from './dockerfile.ts'

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string }
}

/** The parts of a Deployment that the tests look at. */
interface Deployment {
  readonly spec: {
    readonly replicas: number
    readonly strategy: unknown
    readonly selector: { readonly matchLabels: unknown }
    readonly template: {
      readonly metadata: { readonly labels: unknown }
      readonly spec: {
        readonly enableServiceLinks: boolean
        readonly terminationGracePeriodSeconds: number
        readonly securityContext: Readonly<Record<string, unknown>>
        readonly containers: readonly {
          readonly env: readonly { readonly name: string; readonly value: string }[]
          readonly ports: readonly { readonly name: string; readonly containerPort: number }[]
          readonly startupProbe: Probe
          readonly livenessProbe: Probe
          readonly readinessProbe?: Probe
          readonly securityContext: Readonly<Record<string, unknown>>
          readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[]
        }[]
        readonly volumes: readonly unknown[]
      }
    }
  }
}

const [claim, deployment, service] = parseAllDocuments(readBlock('container', 'yaml'), { strict: true }).map(
  (document) => {
    assert.deepEqual([...document.errors, ...document.warnings], [])
    return document.toJS() as unknown
  },
)

function readDeployment() {
  const { spec } = deployment as Deployment
  const pod = spec.template.spec
  const [container, ...more] = pod.containers
  assert.ok(container && more.length === 0)
  return { spec, pod, container, environment: environmentOf(container) }
}

function environmentOf({ env }: { env: readonly { name: string; value: string }[] }) {
  return Object.fromEntries(env.map(({ name, value }) => [name, value]))
}

describe('the manifest of the manual', () => {
  it('runs one pod at a time, which the Service and the volume belong to', () => {
    const { spec, pod, container } = readDeployment()
    assert.deepEqual([spec.replicas, spec.strategy], [1, { type: 'Recreate' }])
    const { metadata, spec: wanted } = claim as {
      metadata: { name: string }
      spec: { accessModes: string[] }
    }
    assert.deepEqual(wanted.accessModes, ['ReadWriteOnce'])
    const claimName = metadata.name
    assert.deepEqual(pod.volumes, [{ name: 'data', persistentVolumeClaim: { claimName } }])
    assert.equal(container.volumeMounts[0]?.name, 'data')
    const { selector, ports } = (service as { spec: { selector: unknown; ports: unknown } }).spec
    assert.deepEqual(selector, spec.selector.matchLabels)
    assert.deepEqual(spec.template.metadata.labels, spec.selector.matchLabels)
    assert.deepEqual(ports, [{ name: 'http', port: 8080, targetPort: 'http' }])
  })

  it('fits the image, and the defaults of the server', () => {
    const { pod, container, environment } = readDeployment()
    const image = readImage()
    const { runAsUser, runAsGroup, fsGroup, fsGroupChangePolicy } = pod.securityContext
    assert.deepEqual([runAsUser, runAsGroup, fsGroup].map(String), [image.uid, image.gid, image.gid])
    assert.equal(fsGroupChangePolicy, 'OnRootMismatch')
    assert.equal(container.securityContext.readOnlyRootFilesystem, true)
    const variables = { ...image.environment, ...environment }
    const { options } = parseCommandLine([], variables, serverFlags)
    assert.deepEqual(container.ports, [{ name: 'http', containerPort: options.port }])
    assert.ok(pod.terminationGracePeriodSeconds > options.shutdownTimeoutSeconds)
    assert.ok(options.data.startsWith(`${container.volumeMounts[0]?.mountPath}/`))
    // With Kubernetes' variables for the Service "connbook" the server would not start.
    assert.equal(pod.enableServiceLinks, false)
    const linked = { ...variables, CONNBOOK_PORT: 'tcp://10.0.0.1:8080' }
    assert.throws(() => parseCommandLine([], linked, serverFlags), /Cannot use CONNBOOK_PORT/)
  })

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
