import assert from 'node:assert/strict'
import { parseCommandLine } from '../../src/command-line/command-line.ts'
import { serverFlags } from '../../src/command-line/options.ts'
import { serviceUnit } from '../../src/commands/systemd-units.ts'

export const parse = (...args: string[]) => parseCommandLine(args, {}, [...serverFlags, 'socket'])
export const service = (...args: string[]) =>
  serviceUnit({ startWords: ['/usr/local/bin/connbook'], commandLine: parse(...args) })

/** The values of the settings with this name, in order. */
export function valuesOf(unit: string, setting: string): string[] {
  return Array.from(unit.matchAll(new RegExp(`^${setting}=(.*)$`, 'gm')), ([, value = '']) => value)
}

/** The words that systemd makes of a command line; written independently from systemd.service(5), "Command lines". */
export function wordsOf(line: string): string[] {
  const words: string[] = []
  let word: string | undefined
  let isQuoted = false
  for (let i = 0; i < line.length; i += 1) {
    const character = line[i] ?? ''
    const next = line[i + 1] ?? ''
    if (character === ' ' && !isQuoted) {
      if (word !== undefined) words.push(word)
      word = undefined
    } else if (character === '"') {
      isQuoted = !isQuoted
      word ??= ''
    } else if (character === '\\') {
      assert.ok(['"', '\\'].includes(next), `an escape that is none: \\${next}`)
      word = (word ?? '') + next
      i += 1
    } else if (character === '%' || (character === '$' && words.length > 0)) {
      assert.equal(next, character, `${character} stands for something`)
      word = (word ?? '') + character
      i += 1
    } else {
      assert.ok(isQuoted || character !== "'", 'a single quote opens')
      word = (word ?? '') + character
    }
  }
  assert.ok(!isQuoted)
  return word === undefined ? words : [...words, word]
}
