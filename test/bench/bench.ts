import { writeFile } from 'node:fs/promises'
import { arch, availableParallelism, cpus, loadavg, release, type } from 'node:os'
import { join } from 'node:path'
import { chooseByWords } from './choose.ts'
import { missingEtcd } from './etcd.ts'
import { createFixtures } from './fixtures.ts'
import { generator } from './measure-load.ts'
import { measurements } from './measurements.ts'
import { renderPlot } from './plot.ts'
import { mergeRuns, publishedTable } from './published.ts'
import { describeDisturbance, describeMeasurement, toJson } from './report.ts'
import type { Section } from './row.ts'
import { type Machine, runOf } from './run.ts'
import { renderText } from './tables.ts'
import { makeWorkshop, resultsFolder } from './workshop.ts'

const measures = chooseOrEnd(process.argv.slice(2))
const begin = performance.now()
const machine: Machine = {
  cpu: cpus()[0]?.model ?? 'unknown processor',
  cores: availableParallelism(),
  system: `${type()} ${release()} ${arch()}`,
  node: process.version,
  loadAverage: loadavg()[0] ?? Number.NaN,
}
console.log(
  `${machine.cores} × ${machine.cpu}, ${machine.system}, Node ${machine.node}, load average ${machine.loadAverage.toFixed(2)}`,
)
if (missingEtcd) console.log(`Nothing is compared with etcd: ${missingEtcd}`)

const sections: Section[] = []
{
  await using fixtures = createFixtures(await makeWorkshop())
  for (const measure of measures) show(await measure(fixtures))
}
console.log(`${describeMeasurement(generator)}${describeDisturbance(sections)}`)

const seconds = Math.round((performance.now() - begin) / 1000)
const report = { date: new Date().toISOString(), machine, generator, seconds, sections: sections.map(toJson) }
const rows = mergeRuns([runOf(report)])
await writeFile(join(resultsFolder, 'bench.json'), `${JSON.stringify(report, null, 2)}\n`)
await writeFile(join(resultsFolder, 'bench.md'), `${publishedTable(rows).join('\n')}\n`)
await writeFile(join(resultsFolder, 'bench.svg'), await renderPlot(rows))
console.log(`\n${seconds} s; written: bench/bench.json, bench/bench.md, bench/bench.svg`)

function chooseOrEnd(words: readonly string[]) {
  try {
    return chooseByWords(measurements, words)
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exit(2)
  }
}

function show(section: Section) {
  sections.push(section)
  const elapsed = ((performance.now() - begin) / 1000).toFixed(0)
  console.log(`\n${renderText(section)}`)
  console.error(`  (${elapsed} s)`)
}
