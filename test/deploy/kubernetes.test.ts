import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseCommandLine } from '../../src/command-line/command-line.ts'
import { serverFlags } from '../../src/command-line/options.ts'
import { readImage } from './dockerfile.ts'
import { claim, readDeployment, service } from './manifest.ts'

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
})
