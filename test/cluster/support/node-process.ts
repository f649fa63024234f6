import { join } from 'node:path'
import { type RunningServer, startExecutable } from '../../support/executable.ts'
import { freePort } from '../../support/free-port.ts'
import { firstStartEnvironment } from '../../support/service.ts'
import { type Lifetime, temporaryFolder } from '../../support/temporary-folder.ts'
import { type NodePlace, placeFlags } from './node.ts'

/** A node as its own process, with the same URL and folder after each start. */
export interface NodeProcess {
  readonly name: string
  readonly url: string
  readonly folder: string
  /** The log of all starts. */
  readonly log: () => string
  signal(signal: NodeJS.Signals): void
  freeze(): void
  thaw(): void
  /** Ends it without notice, and waits until it is gone. */
  kill(): Promise<void>
  /** Ends it as an operator does. @returns The exit code. */
  stop(): Promise<number | NodeJS.Signals>
  start(): Promise<void>
}

/** Starts a node and waits until it listens; it ends with the test or the suite. */
export async function startNodeProcess(
  t: Lifetime,
  place: NodePlace,
  { name = 'node', flags = [] }: { name?: string; flags?: readonly string[] } = {},
): Promise<NodeProcess> {
  const folder = join(await temporaryFolder(t), 'data')
  const port = await freePort()
  const servers: RunningServer[] = []
  const start = async () => {
    const args = ['--data', folder, ...placeFlags(place), ...flags]
    servers.push(await startExecutable(t, args, { port, environment: firstStartEnvironment }))
  }
  const current = () => {
    const server = servers.at(-1)
    if (server === undefined) throw new Error(`${name} has never run`)
    return server
  }
  await start()
  const signal = (name: NodeJS.Signals) => void current().process.kill(name)
  return {
    name,
    url: current().url,
    folder,
    log: () => servers.map((server) => server.stderr()).join(''),
    signal,
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
    kill: async () => void (await current().stop('SIGKILL')),
    stop: () => current().stop(),
    start,
  }
}
