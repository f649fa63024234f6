import { readFile } from 'node:fs/promises'

/** The connections between connbook and its peers, as the kernel lists them (proc(5), /proc/net/tcp). */
export interface TcpConnections {
  /** The peer's port of each open connection. */
  readonly open: ReadonlySet<number>
  /** How many connections that connbook closed first the kernel still lists, which it does for a minute. */
  readonly closedByServer: number
}

const ESTABLISHED = '01'
const TIME_WAIT = '06'

/** @param port The port that connbook listens on. */
export async function readTcpConnections(port: number): Promise<TcpConnections> {
  const lines = (await readFile('/proc/net/tcp', 'utf8')).split('\n').slice(1, -1)
  const own = lines
    .map((line) => /^\s*\d+: \w+:(\w+) \w+:(\w+) (\w+)/.exec(line) ?? [])
    .map(([, local = '', remote = '', state]) => ({
      local: Number.parseInt(local, 16),
      remote: Number.parseInt(remote, 16),
      state,
    }))
    // Both ends are on this machine, so each connection is there twice.
    .filter(({ local }) => local === port)
  return {
    open: new Set(own.filter(({ state }) => state === ESTABLISHED).map(({ remote }) => remote)),
    closedByServer: own.filter(({ state }) => state === TIME_WAIT).length,
  }
}
