import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * The only code block of a language below a heading of the README, unchanged.
 *
 * @param language The word behind the three backticks; empty for a block without a language.
 */
export async function readBlock(heading: string, language: string): Promise<string> {
  const readme = await readFile(join(import.meta.dirname, '../../README.md'), 'utf8')
  const [, ...parts] = readme.split(/^(?=##+ )/m)
  const part = parts.find((text) => text.startsWith(`${heading}\n`)) ?? assert.fail(`no "${heading}"`)
  const blocks = Array.from(part.matchAll(/^```(.*)\n([\s\S]*?)^```$/gm), ([, name, text = '']) => ({
    name,
    text,
  }))
  const [block, ...more] = blocks.filter(({ name }) => name === language)
  assert.ok(block && more.length === 0, `"${heading}" must have one block of ${language || 'no language'}`)
  return block.text
}
