const STAR = '*'.charCodeAt(0)
const ANY = '?'.charCodeAt(0)

/** Cost of checking a condition, in compared characters. */
const LOOK_STEPS = 4

interface Pattern {
  /** From `bytesOf`, without the `!`. */
  readonly bytes: string
  readonly isNegated: boolean
}

/** A criterion of a `Match` line. */
export interface Criterion {
  readonly attribute: 'all' | 'host' | 'originalhost'
  readonly isNegated: boolean
  /** Patterns with commas between them; in small letters, as ssh compares them there. */
  readonly patterns: string
}

/** A name whose conditions are looked at. */
export interface Alias {
  readonly name: string
  /** From `bytesOf`. */
  readonly bytes: string
  /** The host name that ssh knows when it comes to a line: the HostName so far, else the name. From `bytesOf`. */
  readonly hostnameAt: (position: number) => string
  /** Gets the cost of each look, in characters compared; may throw. */
  readonly spend: (steps: number) => void
}

/**
 * When lines of an SSH configuration apply: for the names of their `Host` or `Match`, within the conditions around an
 * `Include`.
 */
export class Condition {
  readonly #around: Condition | undefined
  readonly #criteria: readonly (Criterion & { readonly parsed: readonly Pattern[] })[]
  readonly #position: number
  readonly #names: ReadonlySet<string> | undefined
  readonly #patterns: readonly Pattern[]

  /**
   * @param around Must hold, too.
   * @param words What the `Host` line lists; undefined where no `Host` stands above.
   * @param criteria What a `Match` line asks for; all must hold.
   * @param position Where the `Match` line stands, for `hostnameAt`.
   */
  constructor(
    around?: Condition,
    words?: readonly string[],
    criteria: readonly Criterion[] = [],
    position = 0,
  ) {
    this.#around = around
    this.#position = position
    this.#criteria = criteria.map((criterion) => ({
      ...criterion,
      parsed: criterion.patterns.split(',').map(patternOf),
    }))
    const isPlain = words !== undefined && !words.some(isPattern)
    this.#names = isPlain ? new Set(words) : undefined
    this.#patterns = isPlain || words === undefined ? [] : words.map(patternOf)
  }

  /** Whether every name for which it may hold is one of its words. */
  get isPlain(): boolean {
    return this.#names !== undefined
  }

  /** Whether it depends on the HostName of a host, and so on lines above it. */
  get isDependent(): boolean {
    return this.#criteria.some(({ attribute }) => attribute === 'host') || this.#around?.isDependent === true
  }

  holdsFor(alias: Alias): boolean {
    alias.spend(LOOK_STEPS)
    return (this.#around?.holdsFor(alias) ?? true) && this.#fits(alias) && this.#meets(alias)
  }

  #fits({ name, bytes, spend }: Alias): boolean {
    if (this.#names !== undefined) return this.#names.has(name)
    return this.#patterns.length === 0 || fitsPatterns(bytes, this.#patterns, spend)
  }

  #meets({ name, hostnameAt, spend }: Alias): boolean {
    return this.#criteria.every(({ attribute, isNegated, parsed }) => {
      if (attribute === 'all') return !isNegated
      const text = attribute === 'host' ? hostnameAt(this.#position) : bytesOf(name)
      return fitsPatterns(text.toLowerCase(), parsed, spend) !== isNegated
    })
  }
}

/** Whether one of the patterns fits, and none with `!`. */
function fitsPatterns(bytes: string, patterns: readonly Pattern[], spend: Alias['spend']): boolean {
  let fits = false
  for (const pattern of patterns) {
    if (!matchesPattern(bytes, pattern.bytes, spend)) continue
    if (pattern.isNegated) return false
    fits = true
  }
  return fits
}

const ATTRIBUTES = ['all', 'host', 'originalhost'] as const

/** @returns Undefined for what ssh refuses, and for criteria that need more than the names of hosts. */
export function parseCriteria(words: readonly string[]): readonly Criterion[] | undefined {
  const criteria: Criterion[] = []
  for (let at = 0; at < words.length; at++) {
    const [, mark, written = '', joined] = /^(!?)([a-z]+)(?:=(.*))?$/is.exec(words[at] ?? '') ?? []
    const attribute = ATTRIBUTES.find((known) => known === written.toLowerCase())
    if (attribute === undefined) return undefined
    if (attribute === 'all') criteria.push({ attribute, isNegated: mark === '!', patterns: '' })
    else {
      if (joined === undefined) at += 1
      const patterns = (joined ?? words[at] ?? '').toLowerCase()
      if (patterns === '') return undefined
      criteria.push({ attribute, isNegated: mark === '!', patterns })
    }
  }
  const isSound = criteria.length === 1 || criteria.every(({ attribute }) => attribute !== 'all')
  return criteria.length > 0 && isSound ? criteria : undefined
}

/** Whether a word of a `Host` line is a pattern, not a literal name. */
export function isPattern(word: string): boolean {
  return /[*?]|^!/.test(word)
}

function patternOf(word: string): Pattern {
  const isNegated = word.startsWith('!')
  return { bytes: bytesOf(isNegated ? word.slice(1) : word), isNegated }
}

/** The bytes of a text, a character each: in a pattern of ssh, `?` stands for one byte. */
export function bytesOf(text: string): string {
  return Buffer.from(text).toString('latin1')
}

/**
 * Whether a text matches a pattern of ssh_config(5), with `*` and `?`.
 *
 * @param text From `bytesOf`, like the pattern.
 * @param spend Gets the number of characters that were compared.
 */
function matchesPattern(text: string, pattern: string, spend: (steps: number) => void): boolean {
  let at = 0
  let next = 0
  /** The last `*`, and where its text ends so far. */
  let star = -1
  let starEnd = 0
  let steps = 1
  for (; at < text.length; steps++) {
    const wanted = pattern.charCodeAt(next)
    if (wanted === STAR) {
      star = next
      starEnd = at
      next += 1
    } else if (wanted === ANY || wanted === text.charCodeAt(at)) {
      next += 1
      at += 1
    } else if (star === -1) break
    else {
      starEnd += 1
      at = starEnd
      next = star + 1
    }
  }
  for (; pattern.charCodeAt(next) === STAR && at === text.length; steps++) next += 1
  spend(steps)
  return at === text.length && next === pattern.length
}
