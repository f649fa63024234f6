import { rmSync } from 'node:fs'
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { arch, availableParallelism, cpus, loadavg, release, type } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { compareCompaction } from './compaction.ts'
import { type Result, runComparison } from './comparison.ts'
import { createComparisons } from './comparisons.ts'
import { renderLegend, renderResult, toJson } from './report.ts'

/** In the repository and not among the temporary files of the machine, which may be in memory. */
const folder = fileURLToPath(new URL('../../bench/', import.meta.url))

// An interrupted benchmark leaves neither servers nor folders: both go on exit.
process.once('SIGINT', () => process.exit(130))
process.once('SIGTERM', () => process.exit(143))

const machine = {
  cpu: cpus()[0]?.model,
  cores: availableParallelism(),
  system: `${type()} ${release()} ${arch()}`,
  node: process.version,
  loadAverage: loadavg()[0],
}
console.log(
  `${machine.cores} × ${machine.cpu}, ${machine.system}, Node ${machine.node}, load average ${machine.loadAverage?.toFixed(2)}\n`,
)

await mkdir(folder, { recursive: true })
const workshop = await mkdtemp(join(folder, 'run-'))
process.once('exit', () => rmSync(workshop, { recursive: true, force: true }))

const results: Result[] = []
for (const comparison of await createComparisons(workshop)) show(await runComparison(comparison))
for (const result of await compareCompaction(workshop)) show(result)
console.log(renderLegend(results))
const report = { date: new Date().toISOString(), machine, results: results.map(toJson) }
await writeFile(join(folder, 'results.json'), `${JSON.stringify(report, null, 2)}\n`)

function show(result: Result) {
  results.push(result)
  console.log(`${renderResult(result)}\n`)
}
