import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import * as fc from 'fast-check'
import { getFamily } from '../../src/command-line/command.ts'
import { parseCommandLine } from '../../src/command-line/command-line.ts'
import { editDistance, findNearest } from '../../src/command-line/nearest.ts'
import { describeFlags, serverFlags } from '../../src/command-line/options.ts'
import { commands } from '../../src/commands/commands.ts'
import { UsageError } from '../../src/errors.ts'
import { findChapter } from '../../src/manual/chapters.ts'
import { runCommand } from '../support/command.ts'
import { casesOfSlow } from '../support/properties/hold-property.ts'
import { createRandom } from '../support/random.ts'

const LETTERS = 'abcdefghijklmnopqrstuvwxyz-'

const slipsOfWords = new Map<string, readonly string[]>()

/** Every text one slip away from a word: a letter added, missing, wrong, or two swapped. */
function slipsOf(word: string): readonly string[] {
  const known = slipsOfWords.get(word) ?? makeSlips(word)
  slipsOfWords.set(word, known)
  return known
}

function makeSlips(word: string): string[] {
  const places = Array.from(word, (_, i) => i)
  const cut = places.map((i) => word.slice(0, i) + word.slice(i + 1))
  const swapped = places
    .slice(1)
    .map((i) => `${word.slice(0, i - 1)}${word[i]}${word[i - 1]}${word.slice(i + 1)}`)
  const replaced = places.flatMap((i) =>
    Array.from(LETTERS, (letter) => word.slice(0, i) + letter + word.slice(i + 1)),
  )
  const added = [...places, word.length].flatMap((i) =>
    Array.from(LETTERS, (letter) => word.slice(0, i) + letter + word.slice(i)),
  )
  return [...new Set([...cut, ...swapped, ...replaced, ...added])].filter(
    (slip) => slip !== '' && slip !== word,
  )
}

/** The slips that are neither another word nor a slip of another word. */
function ownSlipsOf(word: string, words: readonly string[]): string[] {
  const others = new Set(
    words.filter((other) => other !== word).flatMap((other) => [other, ...slipsOf(other)]),
  )
  return slipsOf(word).filter((slip) => !others.has(slip))
}

function holdFor<Value>(t: TestContext, values: fc.Arbitrary<Value>, predicate: (value: Value) => void) {
  const { seed } = createRandom()
  t.diagnostic(`seed ${seed}`)
  void fc.assert(fc.property(values, predicate), { seed, numRuns: casesOfSlow(50, 20_000) })
}

/** So many of them at random; all with many CASES. */
function someOf<Value>(t: TestContext, all: readonly Value[]): readonly Value[] {
  const random = createRandom()
  t.diagnostic(`seed ${random.seed}`)
  const count = casesOfSlow(500, all.length)
  const left = [...all]
  return Array.from({ length: count }, () => left.splice(random.integer(0, left.length - 1), 1)).flat()
}

/** The message of the UsageError. */
async function complaint(action: () => unknown): Promise<string> {
  try {
    await action()
  } catch (error) {
    assert.ok(error instanceof UsageError, String(error))
    return error.message
  }
  return assert.fail('it was taken')
}

describe('editDistance', () => {
  const distances: readonly (readonly [from: string, to: string, slips: number])[] = [
    ['', '', 0],
    ['', 'abc', 3],
    ['port', 'port', 0],
    ['prot', 'port', 1],
    ['pot', 'port', 1],
    ['poort', 'port', 1],
    ['part', 'port', 1],
    ['ca', 'abc', 3],
    ['kitten', 'sitting', 3],
    ['abcdef', 'badcfe', 3],
  ]
  for (const [from, to, slips] of distances) {
    it(`of "${from}" and "${to}" is ${slips}, either way`, () => {
      assert.deepEqual([editDistance(from, to), editDistance(to, from)], [slips, slips])
    })
  }

  it('is the length of the shortest sequence of edits, found by brute force', (t) => {
    const short = fc.string({ unit: fc.constantFrom('a', 'b', '-'), maxLength: 5 })
    holdFor(t, fc.tuple(short, short), ([from, to]) => assert.equal(editDistance(from, to), tried(from, to)))
  })
})

/** The recursive definition: tries every possible slip at the ends of the two texts. */
function tried(from: string, to: string): number {
  if (from === '' || to === '') return from.length + to.length
  const ways = [
    tried(from.slice(1), to) + 1,
    tried(from, to.slice(1)) + 1,
    tried(from.slice(1), to.slice(1)) + (from[0] === to[0] ? 0 : 1),
  ]
  if (from.length > 1 && from[0] === to[1] && from[1] === to[0])
    ways.push(tried(from.slice(2), to.slice(2)) + 1)
  return Math.min(...ways)
}

describe('findNearest', () => {
  const words = ['serve', 'backup', 'restore', 'check', 'revoke-all', '--log-format']
  const found: Record<string, string | undefined> = {
    srve: 'serve',
    CHECK: 'check',
    bakcpu: 'backup',
    restoer: 'restore',
    rev: 'revoke-all',
    '--log': '--log-format',
    re: undefined,
    x: undefined,
    '': undefined,
    start: undefined,
    'a quite different text': undefined,
  }
  for (const [text, word] of Object.entries(found)) {
    it(`finds ${word ?? 'nothing'} for "${text}"`, () => assert.equal(findNearest(text, words), word))
  }

  it('completes only an unambiguous prefix', () => {
    assert.equal(findNearest('--tls', ['--tls-cert', '--tls-key']), undefined)
    assert.equal(findNearest('--tls-c', ['--tls-cert', '--tls-key']), '--tls-cert')
  })
})

describe('one slip', () => {
  const flagOf = (usage: string) => usage.split(' ')[0] ?? usage

  for (const { name, flags } of commands.filter(({ flags }) => flags.length > 0)) {
    it(`in a flag of ${name} gets the intended flag suggested`, async (t) => {
      const known = describeFlags(flags).map(({ usage }) => flagOf(usage).slice(2))
      const cases = known.flatMap((flag) => ownSlipsOf(flag, known).map((slip) => ({ flag, slip })))
      const tries: Promise<void>[] = []
      holdFor(t, fc.constantFrom(...cases), ({ flag, slip }) => {
        tries.push(
          complaint(() => parseCommandLine([`--${slip}`], {}, flags)).then((message) =>
            assert.equal(message, `Unknown flag "--${slip}"; did you mean --${flag}?`),
          ),
        )
      })
      await Promise.all(tries)
    })
  }

  it('in the name of a command gets that command suggested', async (t) => {
    const families = [...new Set(commands.map(({ name }) => name.split(' ')[0] ?? ''))]
    const cases = families.flatMap((family) =>
      ownSlipsOf(family, families)
        .filter((slip) => findChapter(slip) === undefined)
        .map((slip) => [family, slip] as const),
    )
    for (const [family, slip] of someOf(t, cases)) {
      assert.equal(
        await complaint(() => getFamily(commands, slip)),
        `Unknown command "${slip}"; did you mean ${family}?`,
      )
    }
  })

  it('in the second word of a command gets both words suggested', async (t) => {
    const cases = commands.flatMap(({ name }) => {
      const [family = '', verb] = name.split(' ')
      if (verb === undefined) return []
      const verbs = commands.map((each) => each.name.split(' ')).filter(([first]) => first === family)
      return ownSlipsOf(
        verb,
        verbs.map(([, second = '']) => second),
      )
        .filter((slip) => !slip.startsWith('-'))
        .map((slip) => ({ name, words: [family, slip] }))
    })
    for (const { name, words } of someOf(t, cases)) {
      assert.equal(
        (await runCommand(words)).stderr,
        `connbook: Unknown command "${words.join(' ')}"; did you mean ${name}?\n`,
      )
    }
  })

  it('in a value from a fixed set gets the right value suggested, for a flag and for a variable', async () => {
    const parse = (flag: string, environment = {}) =>
      parseCommandLine(flag === '' ? [] : [flag], environment, serverFlags)
    const complaints: readonly (readonly [string, () => unknown])[] = [
      ['--log-format "jsno": it must be text or json; did you mean json?', () => parse('--log-format=jsno')],
      ['--log-format "TEXT": it must be text or json; did you mean text?', () => parse('--log-format=TEXT')],
      [
        'CONNBOOK_LOG_FORMAT "tex": it must be text or json; did you mean text?',
        () => parse('', { CONNBOOK_LOG_FORMAT: 'tex' }),
      ],
      ['--log-format "xml": it must be text or json', () => parse('--log-format=xml')],
      ['--access-log "ture": it must be true or false; did you mean true?', () => parse('--access-log=ture')],
    ]
    for (const [message, action] of complaints) assert.equal(await complaint(action), `Cannot use ${message}`)
  })
})
