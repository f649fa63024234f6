import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { fillTables, tables } from '../../.build/manual-tables.ts'
import { chapters } from '../../src/manual/chapters.ts'

const root = join(import.meta.dirname, '../..')
const paths = ['README.md', ...chapters.map(({ name }) => `src/manual/${name}.md`)]

describe('the tables of the manual', async () => {
  const texts = await Promise.all(paths.map((path) => readFile(join(root, path), 'utf8')))

  for (const [i, path] of paths.entries()) {
    it(`in ${path} are those of the code`, async () => {
      const text = texts[i] ?? ''
      assert.equal(text, await fillTables(text), 'write them anew by npm run manual')
    })
  }

  it('are all in use', () => {
    const used = texts.flatMap((text) =>
      Array.from(text.matchAll(/^<!-- table: (\S+) -->$/gm), ([, name]) => name),
    )
    assert.deepEqual([...new Set(used)].toSorted(), Object.keys(tables).toSorted())
  })

  it('replace what stands there, and leave the rest alone', async () => {
    const text = await fillTables(
      'before\n\n<!-- table: exit-codes -->\n| former |\n|---|\n\nbehind\n\n| own |\n',
    )
    assert.match(
      text,
      /^before\n\n<!-- table: exit-codes -->\n\n\| code \| meaning \|\n[\s\S]*\|\n\nbehind\n\n\| own \|\n$/,
    )
    assert.ok(!text.includes('former'))
    assert.equal(await fillTables(text), text)
    await assert.rejects(fillTables('<!-- table: nothing -->\n'), /There is no table "nothing"/)
  })
})
