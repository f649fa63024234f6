import type { EtcdCluster } from './etcd.ts'
import type { NodeProcess } from './node-process.ts'

/** Something that happens to a process while others go on. */
export interface Disturbance {
  readonly what: string
  begin(): void | Promise<void>
  /** After it all is as before. */
  end(): void | Promise<void>
}

/** A process that can be disturbed: a member of etcd or a node. */
type Victim = Pick<NodeProcess, 'name' | 'freeze' | 'thaw' | 'kill' | 'start'>

const FLAPS = 3

/** Each member and each node is killed, frozen, and killed again each time it has just come back. */
export function disturbancesOf(cluster: EtcdCluster, nodes: readonly NodeProcess[]): Disturbance[] {
  return [...cluster.members, ...nodes].flatMap(disturbancesOfOne)
}

/** The leader of the moment is frozen, then killed. */
export function disturbancesOfLeader(cluster: EtcdCluster): Disturbance[] {
  const ofLeader = (what: string, begin: (leader: Victim) => unknown, end: (leader: Victim) => unknown) => {
    let leader: Victim | undefined
    return {
      what: `the leader ${what}`,
      async begin() {
        leader = await cluster.leader()
        await begin(leader)
      },
      async end() {
        if (leader !== undefined) await end(leader)
      },
    }
  }
  return [
    ofLeader(
      'frozen',
      (leader) => leader.freeze(),
      (leader) => leader.thaw(),
    ),
    ofLeader(
      'killed',
      (leader) => leader.kill(),
      (leader) => leader.start(),
    ),
  ]
}

/** All members together, so that the quorum is lost for a time. */
export function disturbancesOfQuorum({ members }: EtcdCluster): Disturbance[] {
  const most = members.slice(1)
  return [
    {
      what: 'the quorum frozen',
      begin: () => {
        for (const member of most) member.freeze()
      },
      end: () => {
        for (const member of most) member.thaw()
      },
    },
    {
      what: 'all members killed',
      begin: async () => void (await Promise.all(members.map((member) => member.kill()))),
      end: async () => void (await Promise.all(members.map((member) => member.start()))),
    },
  ]
}

function disturbancesOfOne(victim: Victim): Disturbance[] {
  const { name } = victim
  return [
    { what: `${name} killed`, begin: () => victim.kill(), end: () => victim.start() },
    { what: `${name} frozen`, begin: () => victim.freeze(), end: () => victim.thaw() },
    {
      what: `${name} flapping`,
      async begin() {
        for (let i = 1; i < FLAPS; i++) {
          await victim.kill()
          await victim.start()
        }
        await victim.kill()
      },
      end: () => victim.start(),
    },
  ]
}
