import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { startLoadedNodes } from './support/loaded-nodes.ts'
import { etcdVersions } from './support/newer-etcd.ts'

const NODES = 2
/** Acknowledged changes while the network is bad. */
const CHANGES = 600
const CUT_OFFS = 2
/** While one node is cut off, and on that node afterwards. */
const OTHER_CHANGES = 60
const OWN_CHANGES = 10
const LOST_SHARE = 0.05

for (const { name, skip, etcd: program } of await etcdVersions({ after }))
  describe(`nodes with a bad network to ${name}`, { skip }, () => {
    for (const when of ['before', 'after', 'within', 'late'] as const)
      it(`keep all promises when 5 % of connections break: ${when}`, async (t) => {
        const { random, proxies, load, check } = await startLoadedNodes(t, {
          program,
          count: NODES,
          hasProxies: true,
        })
        let lost = 0
        const onLoss = () => {
          lost += 1
        }
        for (const proxy of proxies.flat()) proxy.lose({ share: LOST_SHARE, random, when, onLoss })
        await load.more(CHANGES)
        for (const proxy of proxies.flat()) proxy.lose(undefined)
        await load.stop()
        for (const proxy of proxies.flat()) await proxy.drained()
        assert.ok(lost > 0)
        t.diagnostic(`${lost} lost`)
        await check()
      })

    it('keep all promises when one is cut off, by silence or by refusal, and comes back', async (t) => {
      const { nodes, proxies, load, check } = await startLoadedNodes(t, {
        program,
        count: NODES,
        hasProxies: true,
      })
      for (let round = 0; round < CUT_OFFS; round++)
        for (const [i, own] of proxies.entries()) {
          const begun = performance.now()
          for (const proxy of own) proxy.hush()
          await load.more(OTHER_CHANGES)
          for (const proxy of own) proxy.speak()
          await load.more(OWN_CHANGES, nodes[i]?.name)
          const again = performance.now()
          for (const proxy of own) await proxy.refuse()
          await load.more(OTHER_CHANGES)
          for (const proxy of own) await proxy.accept()
          await load.more(OWN_CHANGES, nodes[i]?.name)
          const times = [again - begun, performance.now() - again].map((ms) => ms.toFixed())
          t.diagnostic(`${nodes[i]?.name}: silence ${times[0]} ms, refusal ${times[1]} ms`)
          for (const proxy of own) proxy.breakAll()
        }
      await check()
    })

    it('keep all promises on a slow network that splits answers anywhere', async (t) => {
      const { random, proxies, load, check } = await startLoadedNodes(t, {
        program,
        count: NODES,
        hasProxies: true,
      })
      for (const proxy of proxies.flat()) {
        proxy.split(random.integer(1, 50))
        proxy.delay({ requestMs: random.integer(0, 20), answerMs: random.integer(0, 20) })
      }
      await load.more(CHANGES)
      await check()
    })
  })
