// Writes the tables of the code into the README and the chapters of the manual.
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { chapters } from '../src/manual/chapters.ts'
import { fillTables } from './manual-tables.ts'

const root = join(import.meta.dirname, '..')

for (const path of ['README.md', ...chapters.map(({ name }) => `src/manual/${name}.md`)]) {
  const text = await readFile(join(root, path), 'utf8')
  const filled = await fillTables(text)
  if (filled === text) continue
  await writeFile(join(root, path), filled)
  console.log(`Wrote the tables of ${path}`)
}
