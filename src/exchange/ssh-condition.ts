const STAR = '*'.charCodeAt(0)
const ANY = '?'.charCodeAt(0)

/** Cost of checking a condition, in compared characters. */
const LOOK_STEPS = 4

interface Pattern {
  /** From `bytesOf`, without the `!`. */
  readonly bytes: string
  readonly isNegated: boolean
}

/** A name whose conditions are looked at. */
export interface Alias {
  readonly name: string
  /** From `bytesOf`. */
  readonly bytes: string
  /** Gets the cost of each look, in characters compared; may throw. */
  readonly spend: (steps: number) => void
}

/** When lines of an SSH configuration apply: for the names of their `Host`, within the conditions around an `Include`. */
export class Condition {
  readonly #around: Condition | undefined
  readonly #names: ReadonlySet<string> | undefined
  readonly #patterns: readonly Pattern[]

  /**
   * @param around Must hold, too.
   * @param words Of the `Host` line; undefined where no `Host` stands above.
   */
  constructor(around?: Condition, words?: readonly string[]) {
    this.#around = around
    const isPlain = words !== undefined && !words.some(isPattern)
    this.#names = isPlain ? new Set(words) : undefined
    this.#patterns = isPlain || words === undefined ? [] : words.map(patternOf)
  }

  /** Whether every name for which it may hold is one of its words. */
  get isPlain(): boolean {
    return this.#names !== undefined
  }

  holdsFor(alias: Alias): boolean {
    alias.spend(LOOK_STEPS)
    return (this.#around?.holdsFor(alias) ?? true) && this.#fits(alias)
  }

  #fits({ name, bytes, spend }: Alias): boolean {
    if (this.#names !== undefined) return this.#names.has(name)
    let fits = this.#patterns.length === 0
    for (const pattern of this.#patterns) {
      if (!matchesPattern(bytes, pattern.bytes, spend)) continue
      if (pattern.isNegated) return false
      fits = true
    }
    return fits
  }
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
