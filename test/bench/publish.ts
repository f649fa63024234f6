// Keeps runs of the benchmark in the repository, and makes its picture and tables from all of them. Without a file it
// makes only these.
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readFilled } from './bench-tables.ts'
import { renderPlot } from './plot.ts'
import { mergeRuns, readRuns, runsFolder } from './published.ts'
import { type Report, runOf } from './run.ts'

for (const path of process.argv.slice(2)) {
  const report: Report = JSON.parse(await readFile(path, 'utf8'))
  const run = runOf(report)
  const name = `${run.date.slice(0, 'YYYY-MM-DDTHH:MM'.length).replace(':', '-')}.json`
  await writeFile(join(runsFolder, name), `${JSON.stringify(run, null, 2)}\n`)
  console.log(`Kept ${run.rows.length} rows of ${path} as test/bench/runs/${name}`)
}
await writeFile(
  fileURLToPath(new URL('bench.svg', import.meta.url)),
  await renderPlot(mergeRuns(await readRuns())),
)
const { path, filled } = await readFilled()
await writeFile(path, filled)
