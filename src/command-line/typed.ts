import { resolve } from 'node:path'
import type { BuiltParts } from '../built.ts'
import { wordForShell } from '../shell.ts'

/**
 * The words that a shell takes for this program: `connbook`, or those that run connbook.cjs.
 *
 * bash, zsh and ksh tell in `_` what they start. If that is the file itself, its first line finds Node.
 */
export function typedProgram(
  file: BuiltParts['file'],
  { _: started }: NodeJS.ProcessEnv,
  node = process.execPath,
): string {
  if (file === undefined) return 'connbook'
  const words = started !== undefined && resolve(started) === file ? [file] : [node, file]
  return words.map(wordForShell).join(' ')
}

/**
 * Makes a text name the commands that work: in place of each `connbook` before a command, a flag, or a word that stands for
 * either, the words that a shell takes.
 *
 * @param program From `typedProgram`.
 * @param commands The first words of all commands.
 */
export function typedAs(program: string, commands: Iterable<string>): (text: string) => string {
  if (program === 'connbook') return (text) => text
  const first = [...commands, '--?[a-z]', '[A-Z]{2}', '\\[(?:serve|FLAGS)'].join('|')
  const colour = '\\u001b\\[[\\d;]*m'
  const named = new RegExp(`(?<=^|[^\\w./-]|${colour})connbook(?= (?:${first})| {2,}#|$)`, 'gm')
  return (text) => text.replaceAll(named, () => program)
}
