import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'

const root = join(import.meta.dirname, '../..')

describe('the README', async () => {
  const readme = await readFile(join(root, 'README.md'), 'utf8')

  it('has at most 150 lines', () => {
    assert.ok(readme.trimEnd().split('\n').length <= 150)
  })

  it('links only to files that are there', () => {
    const targets = Array.from(readme.matchAll(/\]\((?!https?:)([^)#]+)/g), ([, target = '']) => target)
    assert.ok(targets.length > 20)
    assert.deepEqual(
      targets.filter((target) => !existsSync(join(root, target))),
      [],
    )
  })

  it('has the figures of the benchmark', async () => {
    const published = await readFile(join(root, 'test/bench/README.md'), 'utf8')
    const figureOf = (row: RegExp) => row.exec(published)?.[1] ?? assert.fail(`${row}`)
    const read = figureOf(/^\| read one record with a token \| (.*) \|$/m)
    const start = figureOf(/^\| start with 1,000,000 records \| .*`\/readyz` after (.*) \|$/m)
    const text = readme.replaceAll(/\s+/g, ' ')
    assert.ok(text.includes(`Reading a record takes ${read};`), read)
    assert.ok(text.includes(`a start with a million records takes ${start}.`), start)
  })
})
