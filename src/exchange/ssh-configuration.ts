import { InvalidInputError } from '../errors.ts'
import { IMPORT_ROW_CHARACTERS_MAX } from '../limits.ts'
import { LeftOutLines } from './left-out.ts'
import { hopOfProxyCommand } from './proxy-command.ts'
import type { ImportWarning } from './row.ts'
import { Condition, isPattern, parseCriteria } from './ssh-condition.ts'
import { isForward, isKeptForward, judgeForward } from './ssh-forward.ts'
import { isKept } from './ssh-host.ts'
import { leftOutText, lowerKeyword, refusalOfKeyword } from './ssh-keywords.ts'

/** Lines and words of an SSH configuration, which are in memory at once; comments do not count. */
const SSH_CONFIG_WORDS_MAX = 4_000_000

/** `Host` lines that name one host: all that they say is looked at together. */
export const SSH_HOST_LINES_MAX = 10_000

/** Where a line stands. */
export interface SourceLocation {
  /** Path of an included file; undefined for the file that was named. */
  readonly file: string | undefined
  readonly line: number
  /** Rises in the order in which ssh reads the lines. */
  readonly order: number
}

export interface LocatedFault {
  readonly location: SourceLocation
  readonly field: string
  readonly detail: string
  readonly name?: string
  /** Hosts that it is for, if they are several. */
  readonly hosts?: number
}

/** A value of a keyword. */
export interface Value {
  /** In small letters; `proxyjump` also for a ProxyCommand, since the first of the two counts for ssh. */
  readonly keyword: string
  /** Undefined for a value that is not kept: a host that needs it cannot be a record. */
  readonly text: string | undefined
  readonly location: SourceLocation
}

/** Values under one condition that stand together. */
export interface Run {
  readonly order: number
  readonly condition: Condition
  readonly values: Value[]
}

/** A literal name of a `Host` line. */
export interface NamedHost {
  readonly condition: Condition
  readonly location: SourceLocation
}

/** An open file of the configuration; see `openFile`. */
export interface OpenConfiguration {
  readonly file: string | undefined
  line: number
  /** Undefined below a line that is not understood, up to the next `Host`. */
  condition: Condition | undefined
  /** The condition under which the whole file was included. */
  readonly around: Condition
}

/** An `Include` line that is to be followed. */
export interface Include {
  readonly condition: Condition
  readonly location: SourceLocation
  readonly words: readonly string[]
}

/** The lines of an SSH configuration and of the files that it includes, kept as far as records can hold them. */
export class SshConfiguration {
  readonly runs: Run[] = []
  /** By name, in the order of the lines. */
  readonly hosts = new Map<string, NamedHost[]>()
  /** Conditions that names do not lead to: those with patterns, and that of the lines before any `Host`. */
  readonly general: Condition[] = []
  readonly #onFault: (fault: LocatedFault) => void
  readonly #wordsMax: number
  readonly #leftOut = new Map<string | undefined, LeftOutLines>()
  #order = 0
  #words = 0

  /** @param wordsMax Most lines and words together. */
  constructor(onFault: (fault: LocatedFault) => void, wordsMax = SSH_CONFIG_WORDS_MAX) {
    this.#onFault = onFault
    this.#wordsMax = wordsMax
  }

  /**
   * Begins a file. Its lines must all be taken before the next line of the file that includes it.
   *
   * @param file Its path; undefined for the file that was named.
   * @param around What the `Include` stands below.
   */
  openFile(file?: string, around?: Condition): OpenConfiguration {
    const condition = around ?? new Condition()
    if (around === undefined) this.general.push(condition)
    return { file, line: 0, condition, around: condition }
  }

  /**
   * Takes the next line of a file; returns an `Include`, whose files must be taken before the line behind it.
   *
   * @param text The line; if it is too long, a beginning that is too long is enough.
   * @throws {InvalidInputError} if the configuration is too long.
   */
  takeLine(open: OpenConfiguration, text: string): Include | undefined {
    open.line += 1
    const line = parseSshLine(text)
    if (text.length > IMPORT_ROW_CHARACTERS_MAX) return this.#passLongLine(open, text, line?.keyword)
    if (line === undefined) return undefined
    const location = this.#locationOf(open, line.words?.length ?? 0)
    const lower = line.keyword.toLowerCase()
    if (lower === 'host') this.#beginHost(open, location, line.words)
    else if (lower === 'match') this.#beginMatch(open, location, line.words)
    else if (open.condition !== undefined) {
      if (line.words === undefined) this.fault(location, 'has a quote without an end')
      else if (lower === 'include') return { condition: open.condition, location, words: line.words }
      else this.#takeValue(open.condition, location, line.keyword, line.words)
    }
    return undefined
  }

  /** What was left out, and changes nothing of where connections go. */
  get warnings(): (ImportWarning & { readonly file: string | undefined })[] {
    return [...this.#leftOut].flatMap(([file, lines]) =>
      lines.warnings((kind) => kind.startsWith('Include')).map((warning) => ({ ...warning, file })),
    )
  }

  /** Lines and words that are kept, for an estimate of their memory. */
  get words(): number {
    return this.#words
  }

  /** @param field The faulty part; `row` for the whole line. */
  fault(location: SourceLocation, detail: string, field = 'row'): void {
    this.#onFault({ location, detail, field })
  }

  /** @throws {InvalidInputError} if the configuration is too long. */
  #locationOf({ file, line }: OpenConfiguration, words: number): SourceLocation {
    this.#order += 1
    this.#words += 1 + words
    if (this.#words <= this.#wordsMax) return { file, line, order: this.#order }
    throw new InvalidInputError(
      `With what it includes, it has more than ${this.#wordsMax} lines and words; make it several files`,
    )
  }

  /** @param keyword Undefined if it is not in the beginning of the line. */
  #passLongLine(open: OpenConfiguration, text: string, keyword: string | undefined): undefined {
    if (/^[ \t]*#/.test(text)) return
    // Lines below a section that is not known must not go to the one above it.
    if (keyword === undefined || /^(?:host|match)$/i.test(keyword)) open.condition = undefined
    else if (open.condition === undefined) return
    this.fault(this.#locationOf(open, 0), `is longer than ${IMPORT_ROW_CHARACTERS_MAX} characters`)
  }

  #beginHost(open: OpenConfiguration, location: SourceLocation, words: readonly string[] | undefined) {
    open.condition = undefined
    if (words === undefined) return this.fault(location, 'has a quote without an end')
    if (words.length === 0) return this.fault(location, 'names nothing', 'Host')
    const condition = new Condition(open.around, words)
    open.condition = condition
    if (!condition.isPlain) this.general.push(condition)
    for (const word of words) {
      if (isPattern(word)) continue
      const named = this.hosts.get(word)
      if (named === undefined) this.hosts.set(word, [{ condition, location }])
      else if (named.length < SSH_HOST_LINES_MAX) named.push({ condition, location })
      else
        throw new InvalidInputError(
          `It names the host ${JSON.stringify(word)} in more than ${SSH_HOST_LINES_MAX} Host lines, and line ${location.line} is one more; leave out those that repeat it, or make it several files`,
        )
    }
  }

  #beginMatch(open: OpenConfiguration, location: SourceLocation, words: readonly string[] | undefined) {
    open.condition = undefined
    if (words === undefined) return this.fault(location, 'has a quote without an end')
    const criteria = parseCriteria(words)
    if (criteria === undefined) {
      const detail =
        'cannot be followed, nor the lines up to the next Host or Match: only all, host and originalhost can'
      return this.fault(location, detail, 'Match')
    }
    open.condition = new Condition(open.around, undefined, criteria, this.runs.length)
    this.general.push(open.condition)
  }

  #takeValue(condition: Condition, location: SourceLocation, written: string, words: readonly string[]) {
    const lower = lowerKeyword(written)
    if (lower === 'proxycommand') {
      // ssh takes the first of the two; none stands for neither.
      const text = hopOfProxyCommand(words)
      this.#add(condition, { keyword: 'proxyjump', text, location })
      if (text !== undefined) return
    }
    const leftOut = leftOutText(lower, written)
    if (leftOut !== undefined) return this.leaveOut(location, leftOut)
    if (!isKept(lower)) return this.fault(location, refusalOfKeyword(lower), written)
    if (isForward(lower)) return this.#takeForward(condition, location, written, words)
    const [text, ...others] = words
    if (text === undefined || others.length > 0) return this.fault(location, 'must have one value', written)
    this.#add(condition, { keyword: lower, text, location })
  }

  #takeForward(condition: Condition, location: SourceLocation, written: string, words: readonly string[]) {
    const lower = written.toLowerCase()
    const text = words.join(' ')
    if (isKeptForward(lower, text)) return this.#add(condition, { keyword: lower, text, location })
    const found = judgeForward(lower, words)
    if ('fault' in found) this.fault(location, found.fault, written)
    else this.leaveOut(location, `${written} was left out: ${found.reason}`)
  }

  /** @param kind The whole warning. */
  leaveOut({ file, line }: SourceLocation, kind: string): void {
    let lines = this.#leftOut.get(file)
    if (lines === undefined) {
      lines = new LeftOutLines()
      this.#leftOut.set(file, lines)
    }
    lines.add(kind, line)
  }

  #add(condition: Condition, value: Value) {
    const last = this.runs.at(-1)
    if (last?.condition === condition) last.values.push(value)
    else this.runs.push({ order: this.runs.length, condition, values: [value] })
  }
}

/** A line of ssh_config(5) that says something. */
interface SshLine {
  readonly keyword: string
  /** Undefined when a quote has no end. */
  readonly words: readonly string[] | undefined
}

/** @returns Undefined for a blank line or a comment. */
function parseSshLine(text: string): SshLine | undefined {
  const bare = trimmed(text)
  if (bare === '' || bare.startsWith('#')) return undefined
  const [, keyword = '', rest = ''] = /^([^ \t=]*)(?:[ \t]*=[ \t]*|[ \t]+)?(.*)$/su.exec(bare) ?? []
  return { keyword, words: splitWords(rest) }
}

/** Splits arguments as OpenSSH does since 8.7; undefined when a quote has no end. */
function splitWords(text: string): string[] | undefined {
  const words: string[] = []
  let word: string | undefined
  let quote = ''
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at)
    const next = text.charAt(at + 1)
    if (character === '\\' && (`'"\\`.includes(next || '-') || (quote === '' && next === ' '))) {
      word = (word ?? '') + next
      at += 1
    } else if (quote === '' && (character === ' ' || character === '\t')) {
      if (word !== undefined) words.push(word)
      word = undefined
    } else if (quote === '' && character === '#' && word === undefined) break
    else if (quote === '' && (character === '"' || character === "'")) {
      quote = character
      word ??= ''
    } else if (character === quote) quote = ''
    else word = (word ?? '') + character
  }
  if (quote !== '') return undefined
  return word === undefined ? words : [...words, word]
}

/** Without blanks at both ends. No expression: it would look at each run of blanks again from each of its places. */
function trimmed(line: string): string {
  let end = line.length
  while (end > 0 && ' \t\r\f'.includes(line.charAt(end - 1))) end -= 1
  return line.slice(0, end).replace(/^[ \t]+/, '')
}
