import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { missing } from '../../support/debian.ts'
import { freePort } from '../../support/free-port.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** Why there is no etcd, for the `skip` of a test, or false. */
export const missingEtcd = missing('etcd')

/** Between two looks at whether a member answers. */
const LOOK_MS = 20
const START_MS_MAX = 20_000

/** A member of a cluster that runs. */
export interface EtcdMember {
  /** Its URL for clients. */
  readonly url: string
  signal(signal: NodeJS.Signals): void
  /** Ends it without notice, and waits until it is gone. */
  kill(): Promise<void>
  /** Starts it again on its data. */
  start(): Promise<void>
}

export interface EtcdCluster {
  readonly members: readonly EtcdMember[]
  readonly urls: readonly string[]
}

/**
 * Starts an etcd of some members on the loopback, and waits until it takes writes. It ends with the test.
 *
 * @param args More arguments of each member.
 */
export async function startEtcd(
  t: TestContext,
  members = 1,
  args: readonly string[] = [],
): Promise<EtcdCluster> {
  const folder = await temporaryFolder(t)
  const places = await Promise.all(
    Array.from({ length: members }, async (_, i) => ({
      name: `m${i}`,
      client: `http://127.0.0.1:${await freePort()}`,
      peer: `http://127.0.0.1:${await freePort()}`,
    })),
  )
  const initial = places.map(({ name, peer }) => `${name}=${peer}`).join()
  const started = places.map(({ name, client, peer }) => {
    let child: ChildProcess | undefined
    const run = async () => {
      child = spawn(
        'etcd',
        [
          ...['--data-dir', `${folder}/${name}`, '--name', name, '--log-level', 'error', '--logger', 'zap'],
          ...['--listen-client-urls', client, '--advertise-client-urls', client],
          ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer],
          ...['--initial-cluster', initial, '--heartbeat-interval', '50', '--election-timeout', '500'],
          ...args,
        ],
        { stdio: 'ignore' },
      )
      await once(child, 'spawn')
    }
    const kill = async () => {
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
      const gone = once(child, 'exit')
      child.kill('SIGKILL')
      await gone
    }
    t.after(kill)
    return {
      url: client,
      signal: (signal: NodeJS.Signals) => void child?.kill(signal),
      kill,
      async start() {
        await run()
        await untilHealthy(client)
      },
      run,
    }
  })
  await Promise.all(started.map(({ run }) => run()))
  await Promise.all(places.map(({ client }) => untilHealthy(client)))
  return { members: started, urls: places.map(({ client }) => client) }
}

async function untilHealthy(url: string) {
  const until = performance.now() + START_MS_MAX
  for (;;) {
    const answer = await fetch(`${url}/health`).then(
      (response) => response.text(),
      () => '',
    )
    if (answer.includes('"health":"true"')) return
    if (performance.now() > until) throw new Error(`etcd at ${url} does not answer: ${answer}`)
    await pause(LOOK_MS)
  }
}
