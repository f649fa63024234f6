import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { firstWordOf } from '../../src/command-line/command.ts'
import { exitCodes } from '../../src/command-line/exit-codes.ts'
import { manPages, roffOfMarkdown } from '../../src/command-line/man-pages.ts'
import { describeFlags } from '../../src/command-line/options.ts'
import { commands } from '../../src/commands/commands.ts'
import { chapters } from '../../src/manual/chapters.ts'
import { runCommand } from '../support/command.ts'
import { unescapeRoff } from '../support/roff.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const pages = manPages(commands)
const textOf = (name: string, section: number) =>
  pages.find((page) => page.name === name && page.section === section)?.text() ?? assert.fail(`no ${name}`)

describe('the man pages', () => {
  it('are one for connbook, one for each command or family, one for each chapter', () => {
    const expected = [
      'connbook.1',
      ...new Set(commands.map(({ name }) => `connbook-${firstWordOf(name)}.1`)),
      ...chapters.map(({ name }) => `connbook-${name}.7`),
    ]
    assert.deepEqual(
      pages.map(({ name, section }) => `${name}.${section}`),
      expected,
    )
  })

  it('name every command, chapter and exit code in the first one', () => {
    const text = unescapeRoff(textOf('connbook', 1))
    for (const { name, summary } of commands) assert.ok(text.includes(`${name}: ${summary}\n`), name)
    for (const { name, summary } of chapters)
      assert.ok(text.includes(`connbook-${name}(7)\n${summary}\n`), name)
    for (const [code, { meaning }] of Object.entries(exitCodes))
      assert.ok(text.includes(`${code}\n${meaning.replaceAll('`', '')}\n`), code)
  })

  it('lead from a command to the chapter of its name, and back', () => {
    const families = new Set(commands.map(({ name }) => firstWordOf(name)))
    const both = chapters.filter(({ name }) => families.has(name))
    assert.notEqual(both.length, 0)
    for (const { name } of both) {
      for (const [section, other] of [
        [1, 7],
        [7, 1],
      ] as const) {
        const text = unescapeRoff(textOf(`connbook-${name}`, section))
        const also = text.split('.SH "SEE ALSO"\n')[1]?.trimEnd().split(',\n')
        assert.deepEqual(also?.slice(0, 2), ['connbook(1)', `connbook-${name}(${other})`])
      }
    }
    assert.ok(unescapeRoff(textOf('connbook-ls', 1)).endsWith('.SH "SEE ALSO"\nconnbook(1)\n'))
  })

  it('list the chapters that a chapter links to', () => {
    const text = unescapeRoff(textOf('connbook-labels', 7))
    const linked = ['start', 'search', 'follow', 'shell', 'console', 'export', 'import'].map(
      (name) => `connbook-${name}(7)`,
    )
    assert.ok(text.endsWith(`.SH "SEE ALSO"\n${['connbook(1)', ...linked].join(',\n')}\n`), text)
  })

  for (const { name, summary, flags, notes = [], examples, exitCodes: codes = {} } of commands) {
    it(`say of ${name} what its help says`, () => {
      const text = unescapeRoff(textOf(`connbook-${firstWordOf(name)}`, 1))
      const told = [
        ...describeFlags(flags).flatMap(({ usage, help, variables }) => [
          usage,
          help.slice(0, 20),
          ...variables,
        ]),
        ...examples.map(([line]) => line),
        ...notes.map((note) => note.slice(0, 30)),
        ...Object.values(codes),
        summary.slice(1),
      ]
      for (const each of told) assert.ok(text.includes(each.replaceAll('`', '')), each)
    })
  }

  describe('as files', async () => {
    const folder = await temporaryFolder({ after })
    const written = await runCommand(['man', '--write', folder])
    const sections = await readdir(folder)
    const inSections = sections.map(async (section) =>
      (await readdir(join(folder, section))).map((file) => join(folder, section, file)),
    )
    const files = (await Promise.all(inSections)).flat()

    it('are files that everybody may read', async () => {
      assert.deepEqual(written, { code: 0, stdout: '', stderr: '' })
      assert.equal(files.length, pages.length)
      for (const { name, section, text } of pages) {
        const path = join(folder, `man${section}`, `${name}.${section}`)
        assert.equal(await readFile(path, 'utf8'), text())
        assert.equal((await stat(path)).mode & 0o777, 0o644)
      }
      assert.equal((await stat(join(folder, 'man1'))).mode & 0o777, 0o755)
    })

    it('are in folders that everybody may read, where these are made', async (t) => {
      const old = await temporaryFolder(t)
      assert.equal((await runCommand(['man', '--write', join(old, 'a', 'b')])).code, 0)
      const modes = ['.', 'a', 'a/b', 'a/b/man7'].map(
        async (path) => (await stat(join(old, path))).mode & 0o777,
      )
      assert.deepEqual(await Promise.all(modes), [0o700, 0o755, 0o755, 0o755])
    })
  })
})

describe('roff', () => {
  it('keeps the text of links, shows addresses, and makes paragraphs of the rows of tables', () => {
    const roff = roffOfMarkdown(
      'See [start](start.md#log-in), [here](#x), [web](https://a.example).\n\n| a | b |\n|---|---|\n| `c` | d |\n',
    )
    assert.equal(
      roff,
      '.PP\nSee \\fIstart\\fR, \\fIhere\\fR, web <https://a.example>.\n.TP\n\\fBc\\fR\nb: d\n',
    )
  })
})

describe('connbook man', () => {
  it('prints the page of a command, of a chapter, or of connbook', async () => {
    const print = async (...args: string[]) => (await runCommand(['man', ...args])).stdout
    assert.equal(await print(), textOf('connbook', 1))
    assert.equal(await print('backup'), textOf('connbook-backup', 1))
    assert.equal(await print('connbook-backup.7'), textOf('connbook-backup', 7))
    assert.equal(await print('security'), textOf('connbook-security', 7))
  })

  it('names the nearest page for another name, and the file that it cannot write', async (t) => {
    const unknown = await runCommand(['man', 'bakup'])
    assert.deepEqual([unknown.code, unknown.stdout], [2, ''])
    assert.match(unknown.stderr, /There is no page "bakup"; did you mean backup\?/)
    const both = await runCommand(['man', 'ls', '--write', await temporaryFolder(t)])
    assert.deepEqual([both.code, both.stdout], [2, ''])
    assert.match(both.stderr, /which writes all pages/)
    const file = join(await temporaryFolder(t), 'file')
    await writeFile(file, '')
    const refused = await runCommand(['man', '--write', file])
    assert.equal(refused.code, 1)
    assert.match(refused.stderr, /^connbook: Cannot write the man page ".*\/file\/man1" \(ENOTDIR\)/)
  })
})
