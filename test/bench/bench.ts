import { writeFile } from 'node:fs/promises'
import { arch, availableParallelism, cpus, loadavg, release, type } from 'node:os'
import { join } from 'node:path'
import { compareAdds } from './adds.ts'
import { compareCompaction } from './compaction.ts'
import { missingEtcd } from './etcd.ts'
import { measureIdleMemory, measureMemoryPerRecord } from './idle-memory.ts'
import { measureImports } from './imports.ts'
import { generator } from './measure-load.ts'
import { comparePages } from './pages.ts'
import { renderPlot } from './plot.ts'
import { prepareFolders } from './prepared-folders.ts'
import { compareReads } from './reads.ts'
import { describeDisturbance, describeMeasurement, toJson } from './report.ts'
import type { Section } from './row.ts'
import { measureScrapes } from './scrapes.ts'
import { startConnbookOnCopy } from './servers.ts'
import { measureStarts } from './starts.ts'
import { renderMarkdown, renderText } from './tables.ts'
import { measureTokens } from './tokens.ts'
import { measureWholeList } from './whole-list.ts'
import { makeWorkshop, resultsFolder } from './workshop.ts'
import { compareWriteCost } from './write-cost.ts'

const begin = performance.now()
const machine = {
  cpu: cpus()[0]?.model,
  cores: availableParallelism(),
  system: `${type()} ${release()} ${arch()}`,
  node: process.version,
  loadAverage: loadavg()[0],
}
console.log(
  `${machine.cores} × ${machine.cpu}, ${machine.system}, Node ${machine.node}, load average ${machine.loadAverage?.toFixed(2)}`,
)
if (missingEtcd) console.log(`Nothing is compared with etcd: ${missingEtcd}`)

const workshop = await makeWorkshop()
const sections: Section[] = []
await measureEverything()
console.log(`${describeMeasurement(generator)}\n${describeDisturbance(sections)}`)

const seconds = Math.round((performance.now() - begin) / 1000)
const report = { date: new Date().toISOString(), machine, generator, seconds, sections: sections.map(toJson) }
await writeFile(join(resultsFolder, 'bench.json'), `${JSON.stringify(report, null, 2)}\n`)
await writeFile(join(resultsFolder, 'bench.md'), `${renderMarkdown(sections)}\n`)
await writeFile(join(resultsFolder, 'bench.svg'), await renderPlot(sections))
console.log(`\n${seconds} s; written: bench/bench.json, bench/bench.md, bench/bench.svg`)

async function measureEverything() {
  const folders = await prepareFolders(workshop)
  show(await measureIdleMemory(workshop))
  show(await measureStarts(folders, workshop))
  {
    await using few = await startConnbookOnCopy(folders.few, workshop)
    await using many = await startConnbookOnCopy(folders.many, workshop)
    await using most = await startConnbookOnCopy(folders.most, workshop)
    show(await measureMemoryPerRecord(few, most))
    show(await compareReads(few, workshop))
    show(await comparePages({ few, many, most }, workshop))
    show(await measureWholeList(many))
    show(await measureTokens(few))
    show(await compareWriteCost(few, most))
    show(await measureScrapes(few, most))
  }
  show(await compareAdds(folders.few, workshop))
  show(await measureImports(folders, workshop))
  show(await compareCompaction(folders.most, workshop))
}

function show(section: Section) {
  sections.push(section)
  const elapsed = ((performance.now() - begin) / 1000).toFixed(0)
  console.log(`\n${renderText(section)}`)
  console.error(`  (${elapsed} s)`)
}
