import assert from 'node:assert/strict'
import { chapters, readChapter } from '../../src/manual/chapters.ts'

/** A fenced block of a chapter. */
export interface Block {
  /** The heading above it, without `#`. */
  readonly heading: string
  /** The word behind the three backticks; empty for none. */
  readonly language: string
  readonly text: string
}

export function readChapterNamed(name: string): string {
  const chapter = chapters.find((each) => each.name === name) ?? assert.fail(`no chapter "${name}"`)
  return readChapter(chapter)
}

/** The fenced blocks of a Markdown text, in their order. */
export function blocksOf(markdown: string): Block[] {
  const found = markdown.matchAll(/^#+ (?<heading>.+)$|^```(?<language>.*)\n(?<text>[\s\S]*?)^```$/gm)
  let heading = ''
  const blocks: Block[] = []
  for (const { groups = {} } of found) {
    if (groups.heading !== undefined) heading = groups.heading
    else blocks.push({ heading, language: groups.language ?? '', text: groups.text ?? '' })
  }
  return blocks
}

/**
 * The only block of a language in a chapter, unchanged.
 *
 * @param heading Looks only at the blocks below this heading.
 */
export function readBlock(chapter: string, language: string, heading?: string): string {
  const all = blocksOf(readChapterNamed(chapter))
  const blocks = all.filter(
    (block) => block.language === language && (heading === undefined || block.heading === heading),
  )
  const [block, ...more] = blocks
  assert.ok(block && more.length === 0, `"${chapter}" must have one ${language}, not ${blocks.length}`)
  return block.text
}
