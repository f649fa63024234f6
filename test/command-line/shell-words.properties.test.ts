import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import * as fc from 'fast-check'
import { spellForBash } from '../../src/command-line/shell-words.ts'
import { extent } from '../support/extent.ts'
import { holdLaterFor } from '../support/properties/hold-property.ts'

const run = promisify(execFile)
const BREAKS = ' \t\n"\'><=;|&(:'
const unquoted = { text: '', quote: '' } as const

describe('spellForBash', () => {
  it('spells any words so that bash reads exactly them', async (t) => {
    const unit = fc.constantFrom(...'aé€😀 !"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~')
    const words = fc.array(fc.string({ unit, minLength: 1 }), { minLength: 1, maxLength: 30 })
    const check = async (all: readonly string[]) => {
      const bare = all.map((word) => [word, spellForBash(word, unquoted, BREAKS)])
      const quoted = all.map((word) => [word, spellForBash(word, { text: '', quote: '"' }, BREAKS)])
      const single = all.map((word) => [word, spellForBash(word, { text: '', quote: "'" }, BREAKS)])
      const spelled = [
        ...bare.map(([, text]) => text),
        ...quoted.flatMap(([, text]) => (text === undefined ? [] : `"${text}"`)),
        ...single.flatMap(([, text]) => (text === undefined ? [] : `'${text}'`)),
      ]
      const { stdout } = await run('bash', ['-c', `printf '%s\\n' ${spelled.join(' ')}`])
      const expected = [...bare, ...quoted, ...single].flatMap(([word, text]) =>
        text === undefined ? [] : word,
      )
      assert.deepEqual(stdout.split('\n').slice(0, -1), expected)
    }
    // Each case starts a shell.
    await holdLaterFor(t, words, check, extent({ quick: 20, full: 1_000 }))
  })
})
