import { compareAdds } from './adds.ts'
import { compareClusterChanges } from './cluster-changes.ts'
import { measureFollowing } from './cluster-following.ts'
import { compareClusterReads } from './cluster-reads.ts'
import { measureClusterStarts } from './cluster-starts.ts'
import { compareCompaction } from './compaction.ts'
import { missingEtcd } from './etcd.ts'
import { measureEventStreams } from './event-streams.ts'
import type { Fixtures } from './fixtures.ts'
import { measureIdleMemory, measureMemoryOfLabels, measureMemoryPerRecord } from './idle-memory.ts'
import { measureImports } from './imports.ts'
import { comparePages } from './pages.ts'
import { FEW, MANY, MOST } from './prepared-folders.ts'
import { compareReads } from './reads.ts'
import type { Section } from './row.ts'
import { measureScrapes } from './scrapes.ts'
import { measureSearches } from './searches.ts'
import { measureStarts } from './starts.ts'
import { measureTokens } from './tokens.ts'
import { measureWaitingPolls } from './waiting-polls.ts'
import { measureWholeList } from './whole-list.ts'
import { compareWriteCost } from './write-cost.ts'

type Measure = (fixtures: Fixtures) => Promise<Section>

/** What needs an etcd. */
const clusterMeasurements = {
  'cluster changes': withoutServers(async ({ folder, workshop }) =>
    compareClusterChanges(await folder(FEW), workshop),
  ),
  'cluster reads': async ({ folder, server, workshop, stopServers }) => {
    await stopServers()
    return compareClusterReads(await folder(FEW), await server(FEW), workshop)
  },
  'cluster following': withoutServers(async ({ folder, workshop }) =>
    measureFollowing(await folder(FEW), workshop),
  ),
  'cluster starts, many': withoutServers(async ({ folder, workshop }) =>
    measureClusterStarts(await folder(MANY), MANY, workshop),
  ),
  'cluster starts, most': withoutServers(async ({ folder, workshop }) =>
    measureClusterStarts(await folder(MOST), MOST, workshop),
  ),
} satisfies Record<string, Measure>

/** All that can be measured, in the order of the table. Those without servers of their own come together. */
export const measurements = {
  'idle memory': ({ workshop }) => measureIdleMemory(workshop),
  starts: async ({ folder, workshop }) =>
    measureStarts({ many: await folder(MANY), most: await folder(MOST) }, workshop),
  'memory of records': async ({ folder, workshop }) =>
    measureMemoryPerRecord({ few: await folder(FEW), most: await folder(MOST) }, workshop),
  'memory of labels': async ({ folder, workshop }) => measureMemoryOfLabels(await folder(FEW), workshop),
  reads: async ({ server, workshop }) => compareReads(await server(FEW), workshop),
  pages: async ({ server, workshop }) =>
    comparePages({ few: await server(FEW), many: await server(MANY), most: await server(MOST) }, workshop),
  'whole lists': async ({ server }) => measureWholeList(await server(MANY)),
  searches: async ({ server }) => measureSearches(await server(MOST)),
  tokens: async ({ server }) => measureTokens(await server(FEW)),
  modifications: async ({ server }) => compareWriteCost(await server(FEW), await server(MOST)),
  scrapes: async ({ server }) => measureScrapes(await server(FEW), await server(MOST)),
  'event streams': withoutServers(async ({ folder, workshop }) =>
    measureEventStreams(await folder(FEW), workshop),
  ),
  'waiting reads': withoutServers(async ({ folder, workshop }) =>
    measureWaitingPolls(await folder(FEW), workshop),
  ),
  adds: withoutServers(async ({ folder, workshop }) => compareAdds(await folder(FEW), workshop)),
  imports: withoutServers(async ({ folder, workshop }) => measureImports(await folder(FEW), workshop)),
  ...(missingEtcd === false ? clusterMeasurements : {}),
  snapshots: withoutServers(async ({ folder, workshop }) => compareCompaction(await folder(MOST), workshop)),
} satisfies Record<string, Measure>

/** Nothing of the others may be in the way. */
function withoutServers(measure: Measure): Measure {
  return async (fixtures) => {
    await fixtures.stopServers()
    return measure(fixtures)
  }
}
