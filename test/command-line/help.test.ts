import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { helpFor } from '../../src/command-line/help.ts'
import { renderMarkdown } from '../../src/command-line/markdown.ts'
import { describeFlags, optionNames } from '../../src/command-line/options.ts'
import { commands } from '../../src/commands/commands.ts'
import { UsageError } from '../../src/errors.ts'
import { chapters, findChapter, readChapter } from '../../src/manual/chapters.ts'
import { plainStyle } from '../support/plain-style.ts'

const help = (...words: string[]) => helpFor(commands, words, plainStyle)
const families = [...new Set(commands.map(({ name }) => name.split(' ')[0] ?? ''))]
const pages: Record<string, string> = {
  'connbook help': help(),
  ...Object.fromEntries(families.map((name) => [name, usageOf(name)])),
  ...Object.fromEntries(commands.map(({ name }) => [name, usageOf(name)])),
}

/** The help without the chapter of that name. */
function usageOf(name: string): string {
  const text = help(...name.split(' '))
  const chapter = findChapter(name)
  if (chapter === undefined) return text
  const end = `\n${renderMarkdown(readChapter(chapter), plainStyle)}`
  assert.ok(text.endsWith(end), name)
  return text.slice(0, -end.length)
}

/** The message of the UsageError. */
function complaint(action: () => unknown): string {
  try {
    action()
  } catch (error) {
    assert.ok(error instanceof UsageError)
    return error.message
  }
  return assert.fail('it was taken')
}

describe('help', () => {
  for (const [name, text] of Object.entries(pages)) {
    it(`${name}: fits 80 columns, has no trailing space, and ends with a newline`, () => {
      for (const line of text.split('\n')) {
        assert.ok(line.length <= 80, line)
        assert.equal(line, line.trimEnd())
      }
      assert.match(text, /[^\n]\n$/)
    })
  }

  it('names every command with its summary, and every exit code', () => {
    const lines = help().split('\n')
    for (const { name, operands = '', summary } of commands) {
      const typed = `  ${[name, operands].join(' ').trim()} `
      const found = lines.filter((line) => line.startsWith(typed) && line.endsWith(` ${summary}`))
      assert.equal(found.length, 1, name)
    }
    for (const code of [0, 1, 2, 65, 75]) assert.match(help(), new RegExp(`^ {2}${code} +\\w`, 'm'))
    assert.match(help(), /^ {2}--version /m)
  })

  for (const command of commands) {
    it(`${command.name}: shows examples, then what the command does, then exactly its flags`, () => {
      const text = pages[command.name] ?? ''
      const flags = describeFlags(command.flags)
      assert.equal(flags.length, command.flags.length)
      assert.ok(command.examples.length > 0)
      const [usage, examples = '', sentence = ''] = text.split('\n\n')
      assert.ok(usage?.startsWith('connbook '))
      assert.equal(examples.split('\n').length, command.examples.length)
      for (const [line] of command.examples) assert.ok(examples.includes(`  ${line}`))
      assert.match(sentence.trimEnd(), /^[A-Z][^\n]+\.$/)
      const shown = text.split('\n').filter((line) => line.startsWith('  --'))
      assert.equal(shown.length, flags.length)
      for (const { usage, variables, fallback } of flags) {
        assert.equal(shown.filter((line) => line.startsWith(`  ${usage}  `)).length, 1, usage)
        const flat = text.replaceAll(/\n +/g, ' ')
        for (const variable of variables) assert.ok(flat.includes(variable), variable)
        if (fallback !== undefined) assert.ok(flat.includes(`default: ${fallback}`), usage)
      }
      for (const code of Object.keys(command.exitCodes ?? {}))
        assert.match(text, new RegExp(`^ {2}${code} +\\w`, 'm'))
    })
  }

  it('mentions every flag of the table', () => {
    const shown = new Set(commands.flatMap(({ flags }) => flags))
    assert.deepEqual(
      optionNames.filter((name) => !shown.has(name)),
      [],
    )
  })

  it('lists the variables of --port in their order, and its default', () => {
    assert.match(
      help('serve'),
      /^ {2}--port PORT +port to listen on; 0 means any free port\n +CONNBOOK_PORT, then PORT; default: 8080$/m,
    )
  })

  it('lists no variable for --read-only', () => {
    assert.match(help('user', 'add'), /^ {2}--read-only +the account can read, but cannot change records$/m)
  })

  it('is printed for "help" in any position', () => {
    const pageOf = (name: string) => pages[name] ?? assert.fail(name)
    assert.equal(help('user', 'add', 'eve', '--help'), pageOf('user add'))
    assert.equal(help('user', '--data', 'x', 'add', '--help'), pageOf('user add'))
    assert.equal(help('user', '--data', 'x', '--help'), pageOf('user'))
    assert.equal(help('--help', 'keys', 'list'), pageOf('keys list'))
    assert.equal(help('-h'), pageOf('connbook help'))
    assert.equal(help('--port', '1', '--help'), pageOf('serve'))
    assert.equal(help('--access-log', '--help'), pageOf('serve'))
  })

  it('has no chapter with --help, but names it', () => {
    for (const name of ['backup', 'keys', 'systemd']) {
      const usage = pages[name] ?? assert.fail(name)
      assert.equal(help(name, '--help'), `${usage}\nThere is a chapter, too: connbook help ${name}\n`)
    }
  })

  it('suggests the nearest command or chapter for an unknown word', () => {
    assert.equal(
      complaint(() => help('bakcup')),
      'There is no help on "bakcup"; did you mean backup?',
    )
    assert.equal(
      complaint(() => help('metrcs')),
      'There is no help on "metrcs"; did you mean metrics?',
    )
    assert.equal(
      complaint(() => help('user', 'ad')),
      'Unknown command "user ad"; did you mean user add?',
    )
    assert.equal(
      complaint(() => help('nothing', 'at', 'all')),
      'There is no help on "nothing"; see connbook help',
    )
  })

  it('lists which commands need a running or a stopped server, in their order', () => {
    const flat = help().replaceAll(/\s+/g, ' ')
    const named = (state: string) => commands.filter(({ server }) => server === state).map(({ name }) => name)
    assert.deepEqual(named('stopped'), ['restore', 'recover'])
    assert.ok(flat.includes('The server must be running for login, logout'), flat)
    assert.ok(flat.includes(`, ${named('running').at(-2)} and ${named('running').at(-1)}.`), flat)
    assert.ok(flat.includes('The server must be stopped for restore and recover. All other commands'), flat)
    assert.ok(help('login').includes('\nThe server must be running.\n'))
    assert.ok(help('recover').includes('\nThe server must be stopped.\n'))
  })

  it('lists every chapter with its summary', () => {
    for (const { name, summary } of chapters)
      assert.match(help(), new RegExp(`^ {2}${name} +${RegExp.escape(summary)}$`, 'm'))
  })

  for (const chapter of chapters) {
    it(`${chapter.name}: shows its chapter, last if there is a command of that name`, () => {
      const text = renderMarkdown(readChapter(chapter), plainStyle)
      if (families.includes(chapter.name)) assert.match(usageOf(chapter.name), /\nCommands\n|^connbook /)
      else assert.equal(help(chapter.name), text)
    })
  }

  it('shows only the usage of a command with two words, although the first word is a chapter', () => {
    assert.ok(help('keys').includes('\nkeys: '))
    assert.ok(help('keys', 'rotate').startsWith('connbook keys rotate'))
    assert.ok(!help('keys', 'rotate').includes('\nkeys: '))
  })

  it('has the same words with bold headings as without', () => {
    for (const name of [...commands, ...chapters].map((each) => each.name)) {
      const words = name.split(' ')
      const bold = helpFor(commands, words, { isTerminal: true, isBold: true, columns: 80 })
      assert.ok(bold.includes('\u001b[1m'))
      assert.equal(bold.replaceAll('\u001b[1m', '').replaceAll('\u001b[22m', ''), help(...words))
    }
  })
})
