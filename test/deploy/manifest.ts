import assert from 'node:assert/strict'
import { parseAllDocuments } from 'yaml'
import { readBlock } from '../manual/published.ts'

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

export const [claim, deployment, service] = parseAllDocuments(readBlock('container', 'yaml'), {
  strict: true,
}).map((document) => {
  assert.deepEqual([...document.errors, ...document.warnings], [])
  return document.toJS() as unknown
})

/** The Deployment with its only container. */
export function readDeployment() {
  const { spec } = deployment as Deployment
  const pod = spec.template.spec
  const [container, ...more] = pod.containers
  assert.ok(container && more.length === 0)
  return { spec, pod, container, environment: environmentOf(container) }
}

function environmentOf({ env }: { env: readonly { name: string; value: string }[] }) {
  return Object.fromEntries(env.map(({ name, value }) => [name, value]))
}
