import '../support/node-version.ts'
import { after, describe, it } from 'node:test'
import { disturbancesOf, disturbancesOfLeader, disturbancesOfQuorum } from './support/disturbances.ts'
import { startLoadedNodes } from './support/loaded-nodes.ts'
import { etcdVersions } from './support/newer-etcd.ts'

const NODES = 3
/** Acknowledged changes during and after each disturbance. */
const CHANGES = 40
/** Longer than a node lets a change wait. */
const PATIENT_MS = 12_000

for (const { name, skip, etcd: program } of await etcdVersions({ after }))
  describe(`nodes on ${name} under load`, { skip }, () => {
    it('keep all promises while members and nodes are killed, frozen and flapping', async (t) => {
      const { cluster, nodes, load, check } = await startLoadedNodes(t, { program, count: NODES })
      const all = [...disturbancesOf(cluster, nodes), ...disturbancesOfLeader(cluster)]
      for (const { what, begin, end } of all) {
        const begun = performance.now()
        await begin()
        await load.more(CHANGES)
        await end()
        await load.more(CHANGES)
        t.diagnostic(`${what}: ${(performance.now() - begun).toFixed()} ms`)
      }
      await check()
    })

    it('keep all promises when the quorum is lost and comes back', async (t) => {
      const options = { program, count: NODES, answerMs: PATIENT_MS }
      const { cluster, nodes, load, check } = await startLoadedNodes(t, options)
      for (const { what, begin, end } of disturbancesOfQuorum(cluster)) {
        await begin()
        const { length } = load.operations
        await load.tried(nodes.length)
        await end()
        await load.more(CHANGES)
        t.diagnostic(`${what}: ${load.operations.length - length} changes tried`)
      }
      await check()
    })
  })
