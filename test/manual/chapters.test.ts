import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { widthOf } from '../../src/command-line/columns.ts'
import { roffOfMarkdown } from '../../src/command-line/man-pages.ts'
import { renderMarkdown } from '../../src/command-line/markdown.ts'
import { describeFlags } from '../../src/command-line/options.ts'
import { commands } from '../../src/commands/commands.ts'
import { chapters, readChapter } from '../../src/manual/chapters.ts'
import { plainStyle } from '../support/plain-style.ts'
import { unescapeRoff } from '../support/roff.ts'
import { blocksOf } from './published.ts'

const folder = join(import.meta.dirname, '../../src/manual')
const root = join(import.meta.dirname, '../..')

/** Blocks that stand for a file or an output: each is read by a test that tries it. */
const triedBy: Record<string, string> = {
  sh: 'test/manual/commands.system.test.ts',
  shell: 'test/manual/commands.system.test.ts',
  'audit ini': 'test/audit/fail2ban.system.test.ts',
  'log logrotate': 'test/manual/logrotate.system.test.ts',
  'troubles json': 'test/manual/troubles.test.ts',
  'troubles yaml': 'test/manual/troubles.system.test.ts',
  'troubles text': 'test/manual/troubles.system.test.ts',
  'follow js': 'test/resources/events-tools.system.test.ts',
  'oauth js': 'test/resources/oauth4webapi.test.ts',
  'backup bash': 'test/deploy/upgrade.faults.test.ts',
  'backup cron': 'test/deploy/cron-backup.system.test.ts',
  'export bash': 'test/manual/export-tools.system.test.ts',
  'export ini': 'test/manual/follow-unit.system.test.ts',
  'recipes bash': 'test/manual/recipes.system.test.ts',
  'recipes cron': 'test/manual/recipes.system.test.ts',
  'recipes text': 'test/manual/recipes.system.test.ts',
  'recipes yaml': 'test/manual/recipes.system.test.ts',
  'container dockerfile': 'test/deploy/container.system.test.ts',
  'container yaml': 'test/deploy/kubernetes.test.ts',
  'metrics yaml': 'test/metrics/prometheus.system.test.ts',
  'proxy caddyfile': 'test/proxy/caddy.system.test.ts',
  'proxy haproxy': 'test/proxy/haproxy.system.test.ts',
  'proxy nginx': 'test/proxy/nginx.system.test.ts',
}

/** Anchors as the web makes them of headings. */
function anchorsOf(text: string): string[] {
  return Array.from(text.matchAll(/^#+ (.+)$/gm), ([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

describe('the chapters of the manual', () => {
  it('are the files of the folder', async () => {
    const files = (await readdir(folder)).filter((name) => name.endsWith('.md'))
    assert.deepEqual(files.toSorted(), chapters.map(({ name }) => `${name}.md`).toSorted())
  })

  for (const chapter of chapters) {
    const { name, summary } = chapter
    const text = readChapter(chapter)
    const prose = text.replaceAll(/^```[\s\S]*?^```$/gm, '')

    it(`${name}: begins with its name and a title, and has no other heading of that level`, () => {
      assert.match(text, new RegExp(`^# ${name}: [a-z].+\n\n`))
      assert.equal(prose.match(/^# /gm)?.length, 1)
      assert.match(summary, /^[A-Za-z].*[^.]$/)
      assert.ok(summary.length <= 66, 'the list of chapters would not fit 80 columns')
    })

    it(`${name}: has lines of at most 120 characters outside of code and tables`, () => {
      const long = prose.split('\n').filter((line) => line.length > 120 && !line.startsWith('|'))
      assert.deepEqual(long, [])
    })

    it(`${name}: links only to chapters, headings and files that are there`, async () => {
      for (const [, target = '', anchor] of prose.matchAll(/\]\(([^)#]*)(?:#([^)]*))?\)/g)) {
        if (/^https?:/.test(target)) continue
        const linked = target === '' ? chapter : chapters.find((each) => `${each.name}.md` === target)
        assert.ok(linked !== undefined, `${target} is no chapter`)
        if (anchor !== undefined) assert.ok(anchorsOf(readChapter(linked)).includes(anchor), `#${anchor}`)
      }
    })

    it(`${name}: keeps the text of each link in its sentence, in the help and in the man page`, () => {
      const flat = (shown: string) => shown.replaceAll(/\s+/g, ' ')
      const help = flat(renderMarkdown(text, { ...plainStyle, columns: 100_000 }))
      const page = flat(unescapeRoff(roffOfMarkdown(text)))
      for (const paragraph of prose.split(/\n\n|\n(?=- |\d\. )/)) {
        for (const [, before, title, after] of flat(paragraph).matchAll(
          /([\w ]{0,12})\[([^[\]]*)\]\([^)]*\)([\w ,.]{0,12})/g,
        )) {
          const sentence = `${before}${title}${after}`
          assert.ok(help.includes(sentence), sentence)
          assert.ok(page.includes(sentence), sentence)
        }
      }
    })

    it(`${name}: has only blocks that a test tries`, async () => {
      for (const { language, heading } of blocksOf(text))
        assert.ok(triedBy[language] ?? triedBy[`${name} ${language}`], `${language} below "${heading}"`)
    })

    it(`${name}: names only commands and flags that are there`, () => {
      for (const [, line = ''] of prose.matchAll(/`(connbook(?: [^`]+)?)`/g)) assertIsCommand(line)
    })

    for (const columns of [40, 80, 100]) {
      it(`${name}: fits ${columns} columns, but for code and long words`, () => {
        const lines = renderMarkdown(text, { ...plainStyle, columns }).split('\n')
        for (const line of lines) {
          assert.equal(line, line.trimEnd())
          // A call is never broken between its method and its path.
          const isOneWord = /^\s*(`[A-Z]+ )?\S*$/.test(line)
          assert.ok(widthOf(line) <= columns || line.startsWith('      ') || isOneWord, line)
        }
      })
    }
  }

  for (const [block, path] of Object.entries(triedBy)) {
    it(`${block}: is read by ${path}`, async () => {
      const [name = '', language = name] = block.split(' ')
      const text = await readFile(join(root, path), 'utf8')
      const helpers = Array.from(text.matchAll(/from '(\.[^']+)'/g), ([, file = '']) =>
        join(root, path, '..', file),
      )
      const texts = [text, ...(await Promise.all(helpers.map((file) => readFile(file, 'utf8'))))]
      const reads = new RegExp(
        `(?:readBlock|readPublished|inLanguage)\\((?:[\\w.']+, )?'${language}'|language === '${language}'`,
      )
      assert.ok(
        texts.some((each) => reads.test(each)),
        `nothing there reads ${language}`,
      )
    })
  }
})

/** The words of a line after `connbook` must be a command, or flags of the server; names in capitals stand for others. */
function assertIsCommand(line: string): void {
  const [first = 'serve', second, ...rest] =
    line
      .split(/ [|>&;] ?|2>/)[0]
      ?.trim()
      .split(' ')
      .slice(1) ?? []
  if (first === 'help' || first === '--version' || /^[A-Z]+$/.test(first)) return
  const words = first.startsWith('-') ? ['serve', first, second, ...rest] : [first, second, ...rest]
  const family = commands.filter(({ name }) => name.split(' ')[0] === words[0])
  const command = family.find(({ name }) => name === words[0] || name === words.slice(0, 2).join(' '))
  assert.ok(family.length > 0, line)
  // A family may be named as a whole: `connbook keys`.
  assert.ok(command !== undefined || words[1] === undefined, line)
  const known = describeFlags(family.flatMap(({ flags }) => flags)).map(({ usage }) => usage.split(' ')[0])
  for (const word of words)
    if (word?.startsWith('--') && word !== '--help') assert.ok(known.includes(word.split('=')[0]), line)
}
