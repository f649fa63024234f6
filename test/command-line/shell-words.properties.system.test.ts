import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import * as fc from 'fast-check'
import { spellForBash, splitTyped } from '../../src/commands/complete.ts'
import { casesOfSlow, holdLaterFor } from '../support/properties/hold-property.ts'

const run = promisify(execFile)
/** How an open quote is left and opened again, for a character that cannot stand in it. */
const reopened = { '': '', '"': `'!'"`, "'": `'\\''` }

/** A word as bash has it after the Tab key, when a part of it is typed already: without quotes, and in either kind. */
function completed(word: string, part: string): string[] {
  return (['', '"', "'"] as const).map((quote) => {
    const spelled = spellForBash(`${part}a`, { text: '', quote, keptLength: 0 })
    const typed = quote + spelled.slice(0, -1)
    // Readline replaces what follows the quote that is open, and closes it unless the same character is there.
    const again = typed.lastIndexOf(reopened[quote])
    const kept = quote === '' ? 0 : again === -1 ? 1 : again + reopened[quote].length
    const line = typed.slice(0, kept) + spellForBash(word, splitTyped(typed).last)
    return line.endsWith(quote) ? line : line + quote
  })
}

describe('spellForBash', () => {
  it('spells any words so that bash reads exactly them', async (t) => {
    const unit = fc.constantFrom(...'aé€😀 !"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~')
    const word = fc.array(unit, { minLength: 1 })
    const words = fc.array(fc.tuple(word, fc.nat({ max: 10 })), { minLength: 1, maxLength: 30 })
    const check = async (all: readonly (readonly [characters: readonly string[], typed: number])[]) => {
      const lines = all.flatMap(([characters, typed]) =>
        completed(characters.join(''), characters.slice(0, typed).join('')),
      )
      const { stdout } = await run('bash', ['-c', `printf '%s\\n' ${lines.join(' ')}`])
      const expected = all.flatMap(([characters]) => Array(3).fill(characters.join('')))
      assert.deepEqual(stdout.split('\n').slice(0, -1), expected)
    }
    // Each case starts a shell.
    await holdLaterFor(t, words, check, casesOfSlow(5, 1_000))
  })
})
