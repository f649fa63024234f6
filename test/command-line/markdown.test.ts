import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { renderMarkdown } from '../../src/command-line/markdown.ts'
import { plainStyle } from '../support/plain-style.ts'

const rendered = (text: string, columns = 40) => renderMarkdown(text, { ...plainStyle, columns })

describe('a chapter', () => {
  it('has headings at the margin, and text indented and fitted', () => {
    assert.equal(
      rendered('# name: title\n\n## Section\n\nOne sentence that is\nlonger than a line of forty.\n'),
      'name: title\n\nSection\n\n  One sentence that is longer than a\n  line of forty.\n',
    )
  })

  it('has bold headings on a terminal', () => {
    const style = { isTerminal: true, isBold: true, columns: 80 }
    assert.equal(renderMarkdown('# name\n\ntext\n', style), '\u001b[1mname\u001b[22m\n\n  text\n')
  })

  it('shows code unchanged, blank lines and long ones included', () => {
    const code = `first\n\n  ${'x'.repeat(60)} y\n# no heading\n| no table`
    assert.equal(
      rendered(`\`\`\`sh\n${code}\n\`\`\`\n`),
      `      first\n\n        ${'x'.repeat(60)} y\n      # no heading\n      | no table\n`,
    )
  })

  it('keeps the items of a list apart, and indents their further lines', () => {
    assert.equal(
      rendered('- one item that is longer than\n  a line of forty\n- two\n\n1. first\n2. second\n'),
      '  - one item that is longer than a line\n    of forty\n  - two\n\n  1. first\n  2. second\n',
    )
  })

  it('fits tables, and shows an escaped bar as a bar', () => {
    assert.equal(
      rendered('| name | does |\n|---|---|\n| `a\\|b` | **this** |\n'),
      '  name   does\n  `a|b`  this\n',
    )
  })

  it('keeps the text of links, shows addresses, and drops comments', () => {
    assert.equal(
      rendered('<!-- table: calls -->\nSee [this](https://example.net/), or [that](#that).\n', 80),
      '  See this <https://example.net/>, or that.\n',
    )
  })

  it('names the chapters that a paragraph, an item or a table links to on a line below it, each once', () => {
    assert.equal(
      rendered('Keys become [labels](labels.md), as [all](start.md#x) [labels](labels.md#y) do:\n'),
      '  Keys become labels, as all labels do:\n  (`connbook help labels`,\n  `connbook help start`)\n',
    )
    assert.equal(
      rendered('- save [all](backup.md)\n- go\n'),
      '  - save all\n    (`connbook help backup`)\n  - go\n',
    )
    assert.equal(
      rendered('| a | b |\n|---|---|\n| c | [d](log.md) |\n'),
      '  a  b\n  c  d\n  (`connbook help log`)\n',
    )
  })

  it('leaves code in a sentence as it is, and shows the text of a link to a heading', () => {
    assert.equal(
      rendered('Take `src/**/*.ts`, not `[a](b.md)`; see [below](#below).\n', 80),
      '  Take `src/**/*.ts`, not `[a](b.md)`; see below.\n',
    )
  })

  it('keeps short code in a sentence on one line', () => {
    assert.equal(
      rendered('A sentence with some code in it: `connbook user list`.\n'),
      '  A sentence with some code in it:\n  `connbook user list`.\n',
    )
  })
})
