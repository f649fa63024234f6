import { defineCommand } from '../command-line/command.ts'
import { placeFlags } from '../command-line/options.ts'
import { shown } from '../command-line/output.ts'
import { confirm } from '../command-line/terminal.ts'
import { UsageError } from '../errors.ts'
import { clusterExitCodes, usedCluster } from './used-cluster.ts'

/** Throws as `UsedCluster.upgrade` does, and {UsageError} without consent. */
export const clusterUpgradeCommand = defineCommand({
  name: 'cluster upgrade',
  summary: 'raise a cluster to the newest form, once all nodes are new',
  examples: [['connbook cluster upgrade --etcd URL', 'asks before it changes anything']],
  notes: [
    'Until then nodes write what those of an older connbook can read. After it, an older node refuses the cluster.',
  ],
  flags: [...placeFlags, 'yes'],
  exitCodes: {
    ...clusterExitCodes,
    0: 'raised, or it has the newest form already',
    2: 'a wrong flag or word, or no consent; nothing has changed',
  },
  async run({ options }, context) {
    using cluster = usedCluster(options)
    if (cluster === undefined)
      throw new UsageError('Cannot upgrade a cluster without --etcd URL; a data folder needs no upgrade')
    const { place } = cluster
    if (options.yes !== true)
      await confirm(`Are all nodes of ${place} of this connbook? An older one stops serving`, context)
    const isRaised = await cluster.upgrade()
    const done = isRaised ? `Raised ${place} to the newest form` : `${place} has the newest form already`
    await shown(context.print(`${done}\n`), 'show what was done')
  },
})
