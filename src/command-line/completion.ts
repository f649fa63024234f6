import { basename } from 'node:path'
import { chapters } from '../manual/chapters.ts'
import { wordForShell } from '../shell.ts'
import { type Command, firstWordOf, verbOf, verbsOf } from './command.ts'
import { describeFlags, type FlagDescription } from './options.ts'

// Each asks the program, which prints "files", or "words" and a word a line. Nothing that was typed is evaluated. Whatever
// the first word is, the connbook on the PATH is asked: Tab must not run what lies in somebody else's folder. Only an
// absolute path that nobody else can change is asked itself.

/** For bash and zsh. In `ls -n` the 6th and 9th characters are the right of others to write, and the 10th is the sticky bit. */
const isSafe = `# Whether a program and all folders above it are root's or one's own, no link, and not for others to change.
_connbook_is_safe() {
  local at=$1 listed mode links owner rest
  local -a parts
  [[ $at == /* && -f $at && -x $at ]] || return 1
  while [[ -n $at ]]; do
    parts+=("$at")
    at=\${at%/*}
  done
  listed=$(command ls -ldn -- / "\${parts[@]}" 2> /dev/null) || return 1
  while IFS=' ' read -r mode links owner rest; do
    [[ $mode == [-d]????[!w]??[!w]* || $mode == d????????[tT]* ]] || return 1
    [[ $owner == 0 || $owner == "$EUID" ]] || return 1
  done <<< "$listed"
}
`
const bash = `# bash completion of connbook. For all users: /usr/share/bash-completion/completions/connbook
${isSafe}_connbook() {
  local program=$1 lines
  [[ $program == '~/'* ]] && program=$HOME/\${program:2}
  _connbook_is_safe "$program" || program=connbook
  mapfile -t lines < <("$program" complete bash "$COMP_WORDBREAKS" -- "\${COMP_LINE:0:COMP_POINT}" 2> /dev/null)
  if [[ \${lines[0]-} == files ]]; then
    compopt -o default
    COMPREPLY=()
  else
    COMPREPLY=("\${lines[@]:1}")
    # A value goes on behind it.
    [[ \${COMPREPLY[0]-} == *= ]] && compopt -o nospace
  fi
  return 0
}
complete -F _connbook connbook
`
const zsh = `#compdef connbook
# zsh completion of connbook: a file _connbook in a folder of $fpath.
${isSafe}_connbook() {
  local program=\${(Q)words[1]}
  local -a lines
  [[ $program == '~/'* ]] && program=$HOME/\${program[3,-1]}
  _connbook_is_safe "$program" || program=connbook
  lines=("\${(@f)$("$program" complete zsh -- "\${(@Q)words[2,CURRENT-1]}" "\${(Q)PREFIX}" 2> /dev/null)}")
  if [[ $lines[1] == files ]]; then
    [[ $PREFIX == --*=* ]] && compset -P 1 '*='
    _files
  else
    shift lines
    local -a suffix
    [[ \${lines[1]-} == *= ]] && suffix=(-S '')
    compadd "\${(@)suffix}" -- "\${(@)lines}"
  fi
}
if [[ $funcstack[1] == _connbook ]]; then
  _connbook "$@"
else
  compdef _connbook connbook
fi
`
const fish = `# fish completion of connbook: ~/.config/fish/completions/connbook.fish
# Whether a program and all folders above it are root's or one's own, no link, and not for others to change.
function __connbook_is_safe
    set -l at "$argv[1]"
    set -l parts /
    set -l self (id -u)
    string match -q -- '/*' "$at"; and test -f "$at" -a -x "$at"; or return 1
    while test -n "$at"
        set -a parts "$at"
        set at (string replace -r -- '/[^/]*$' '' "$at")
    end
    set -l listed (command ls -ldn -- $parts 2> /dev/null); or return 1
    for line in $listed
        set -l fields (string split -n ' ' -- "$line")
        string match -qr -- '^([-d].{4}[^w].{2}[^w]|d.{8}[tT])' "$fields[1]"; or return 1
        contains -- "$fields[3]" 0 "$self"; or return 1
    end
end
function __connbook_complete
    set -l words (commandline -opc)
    set -l last (commandline -ct | string unescape)
    set -l program $words[1]
    string match -q -- '~/*' $program; and set program $HOME/(string sub -s 3 -- $program)
    __connbook_is_safe "$program"; or set program connbook
    command -q -- $program; or return
    set -l lines ($program complete fish -- $words[2..] "$last" 2> /dev/null)
    if test "$lines[1]" = files
        set -l flag (string match -r -- '^--[^=]*=' "$last")
        set -l path (string sub -s (math 1 + (string length -- "$flag")) -- "$last")
        __fish_complete_path "$path" | string replace -r -- '^' "$flag"
    else
        string join -- \\n $lines[2..]
    end
end
complete -c connbook -f -a '(__connbook_complete)'
`
/** The script for each shell, which its user installs once. */
export const completionScripts: Readonly<Record<(typeof shells)[number], string>> = { bash, zsh, fish }

/**
 * The script for connbook.cjs: it completes also behind the name of the file, and always asks the same program.
 *
 * @param file The path of connbook.cjs.
 * @param program The words that run it, as a shell takes them.
 */
export function completionScriptOf(shell: (typeof shells)[number], file: string, program: string): string {
  const name = wordForShell(basename(file))
  return completionScripts[shell]
    .replaceAll(/(?<=\()"?\$program"? complete/g, () => `${program} complete`)
    .replace(/^ {4}command -q -- \$program; or return\n/m, '')
    .replace(
      /^(?:complete -F _connbook|#compdef| {2}compdef _connbook) connbook$/gm,
      (line) => `${line} ${name}`,
    )
    .replace(/^complete -c connbook (.+)$/m, (line, rest) => `${line}\ncomplete -c ${name} ${rest}`)
}

/** The forms of a value with labels, by the placeholder of its flag: to set one, to remove one, or to filter. */
export const labelForms = { 'KEY=VALUE': 'set', KEY: 'key', 'KEY[=VALUE]': 'filter' } as const
export type LabelForm = (typeof labelForms)[keyof typeof labelForms]

/** What can stand at a place of a command line. */
export type Completion =
  | { readonly kind: 'words'; readonly words: readonly string[] }
  | { readonly kind: 'files' }
  /** Names of records. */
  | {
      readonly kind: 'records'
      readonly command: Command
      readonly words: readonly string[]
      /** Whether a name may begin with `-`; then it is not taken for a flag. */
      readonly areFlagsOver: boolean
    }
  /** Keys and values of labels. */
  | {
      readonly kind: 'labels'
      readonly command: Command
      /** Those that are complete, with their values. */
      readonly words: readonly string[]
      readonly form: LabelForm
      /** What stands before them in the word: empty, or `--label=`. */
      readonly start: string
    }

export const shells = ['bash', 'zsh', 'fish'] as const

const nothing: Completion = { kind: 'words', words: [] }

/** Placeholders of values that are paths. */
const PATH = /\b(?:FILE|FOLDER|PATH)\b/

/**
 * What can be typed next, from the table of commands alone.
 *
 * @param words Behind `connbook`, complete.
 * @param last The word that is being typed.
 */
export function completionOf(
  commands: readonly Command[],
  words: readonly string[],
  last: string,
): Completion {
  const [first = last, ...rest] = words
  const isOfServer = first.startsWith('-')
  if (words.length === 0 && !isOfServer) return wordsOf(commands.map(({ name }) => firstWordOf(name)))
  const family = commands.filter(({ name }) => firstWordOf(name) === (isOfServer ? 'serve' : first))
  const [only] = family
  if (only === undefined) return nothing
  const isAlone = verbOf(only) === undefined
  const command = isAlone ? only : family.find((each) => verbOf(each) === rest[0])
  if (command === undefined) return rest.length === 0 ? wordsOf(verbsOf(family)) : nothing
  const completion = inCommand(command, isOfServer ? words : rest.slice(isAlone ? 0 : 1), last, commands)
  return words.length === 0 && completion.kind === 'words'
    ? wordsOf([...completion.words, '--version'])
    : completion
}

function inCommand(
  command: Command,
  words: readonly string[],
  last: string,
  commands: readonly Command[],
): Completion {
  const flags = describeFlags(command.flags)
  const flagOf = (word: string) => flags.find(({ usage }) => firstWordOf(usage) === word)
  const operands: string[] = []
  let areFlagsOver = false
  let unvalued: FlagDescription | undefined
  for (const word of words) {
    if (unvalued !== undefined) unvalued = undefined
    else if (areFlagsOver || !word.startsWith('-') || word === '-') {
      operands.push(word)
      areFlagsOver ||= command.passesOn === true
    } else if (word === '--') areFlagsOver = true
    else if (placeholderOf(flagOf(word)) !== undefined) unvalued = flagOf(word)
  }
  // Without its flag, which has no value yet.
  if (unvalued !== undefined) return valuesOf(unvalued, '', command, words.slice(0, -1))
  if (areFlagsOver || !last.startsWith('-'))
    return operandOf(command, words, operands, areFlagsOver, commands)
  const [name = ''] = last.split('=', 1)
  const valued = last.includes('=') ? flagOf(name) : undefined
  if (valued !== undefined) return valuesOf(valued, `${name}=`, command, words)
  const left = flags.filter(({ usage, isList }) => isList || !words.includes(firstWordOf(usage)))
  return wordsOf([...left.map(({ usage }) => firstWordOf(usage)), '--help'])
}

/** @param operands Those that are complete. */
function operandOf(
  command: Command,
  words: readonly string[],
  operands: readonly string[],
  areFlagsOver: boolean,
  commands: readonly Command[],
): Completion {
  const [first] = operands
  if (operands.length >= (command.operandsMax ?? 1)) return nothing
  if (command.passesOn === true && first !== undefined) return { kind: 'files' }
  switch (command.completes) {
    case 'records':
      return { kind: 'records', command, words, areFlagsOver }
    case 'files':
      return { kind: 'files' }
    case 'topics':
      if (first !== undefined)
        return wordsOf(verbsOf(commands.filter(({ name }) => firstWordOf(name) === first)))
      return wordsOf([...commands.map(({ name }) => firstWordOf(name)), ...chapters.map(({ name }) => name)])
    default:
      return wordsOf(command.completes ?? [])
  }
}

/** The placeholder of the value of a flag; undefined for a switch. */
function placeholderOf(flag: FlagDescription | undefined): string | undefined {
  return flag?.usage.split(' ')[1]
}

function valuesOf(
  flag: FlagDescription,
  start: string,
  command: Command,
  words: readonly string[],
): Completion {
  if (flag.choices.length > 0) return wordsOf(flag.choices.map((choice) => start + choice))
  const placeholder = placeholderOf(flag) ?? ''
  if (Object.hasOwn(labelForms, placeholder)) {
    const form = labelForms[placeholder as keyof typeof labelForms]
    return { kind: 'labels', command, words, form, start }
  }
  return PATH.test(placeholder) ? { kind: 'files' } : nothing
}

function wordsOf(words: readonly string[]): Completion {
  return { kind: 'words', words: [...new Set(words)] }
}
