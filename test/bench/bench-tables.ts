import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { mergeRuns, publishedTable, readRuns, runsTable } from './published.ts'
import type { Run } from './run.ts'
import { speedTable } from './speed-table.ts'

/** The file that shows the figures of the benchmark. */
const path = fileURLToPath(new URL('README.md', import.meta.url))

const tables: Readonly<Record<string, (runs: readonly Run[]) => string[]>> = {
  runs: runsTable,
  rows: (runs) => publishedTable(mergeRuns(runs)),
  speed: (runs) => speedTable(mergeRuns(runs)),
}

/** Fills in the table behind each `<!-- benchmark: NAME -->` of a Markdown text, in place of the one that is there. */
export function fillTables(text: string, runs: readonly Run[]): string {
  return text.replaceAll(/^(<!-- benchmark: (\S+) -->\n)\n*(?:\|.*\n)*\n*/gm, (_, mark, name: string) => {
    const make = tables[name]
    if (make === undefined) throw new Error(`There is no table "${name}"; there are ${Object.keys(tables)}`)
    return `${mark}\n${make(runs).join('\n')}\n\n`
  })
}

/** The file with its text, and the text that it has with the tables of the kept runs. */
export async function readFilled(): Promise<{ path: string; text: string; filled: string }> {
  const text = await readFile(path, 'utf8')
  return { path, text, filled: fillTables(text, await readRuns()) }
}
