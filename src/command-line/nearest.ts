/** A shorter prefix would match almost anything. */
const PREFIX_CHARACTERS_MIN = 3

/**
 * Finds the candidate that was probably meant: the one at the smallest edit distance (at most a third of the length,
 * and at least 1), or else the only one that begins with the text. Ignores case.
 *
 * @returns Undefined when nothing is near.
 */
export function findNearest(text: string, candidates: Iterable<string>): string | undefined {
  const typed = text.toLowerCase()
  const known = [...new Set(candidates)]
  let nearest: string | undefined
  let slipsMax = Math.max(1, Math.floor(typed.length / 3))
  for (const candidate of known) {
    const slips = editDistance(typed, candidate.toLowerCase())
    if (slips > slipsMax || (slips === slipsMax && nearest !== undefined)) continue
    nearest = candidate
    slipsMax = slips
  }
  return nearest ?? onlyCompletion(typed, known)
}

/**
 * The candidates that may have been meant, the most likely first: those at a small edit distance, as for `findNearest`, or
 * else those with the text in them. Ignores case.
 */
export function findNear(text: string, candidates: readonly string[], countMax: number): string[] {
  const typed = text.toLowerCase()
  const slipsMax = Math.max(1, Math.floor(typed.length / 3))
  const near = candidates.flatMap((candidate) => {
    // The distance is at least as large, and takes long to find.
    if (Math.abs(candidate.length - typed.length) > slipsMax) return []
    const slips = editDistance(typed, candidate.toLowerCase())
    return slips > slipsMax ? [] : [{ candidate, slips }]
  })
  near.sort((a, b) => a.slips - b.slips)
  const found = near.map(({ candidate }) => candidate)
  if (found.length === 0 && typed.length >= PREFIX_CHARACTERS_MIN)
    found.push(...candidates.filter((candidate) => candidate.toLowerCase().includes(typed)))
  return found.slice(0, countMax)
}

/** Ends an error message: suggests the nearest word, or else says `otherwise`. */
export function adviceFor(text: string, candidates: Iterable<string>, otherwise: string): string {
  const nearest = findNearest(text, candidates)
  return nearest === undefined ? otherwise : `did you mean ${nearest}?`
}

/** The Damerau–Levenshtein distance, as optimal string alignment: no character takes part in two swaps. */
export function editDistance(from: string, to: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (let row = 1; row <= from.length; row++) {
    const current = [row]
    for (let column = 1; column <= to.length; column++) {
      const isSame = from[row - 1] === to[column - 1]
      const isSwap =
        row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]
      current[column] = Math.min(
        at(last, column) + 1,
        at(current, column - 1) + 1,
        at(last, column - 1) + (isSame ? 0 : 1),
        isSwap ? at(beforeLast, column - 2) + 1 : Number.POSITIVE_INFINITY,
      )
    }
    beforeLast = last
    last = current
  }
  return at(last, to.length)
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY
}

function onlyCompletion(typed: string, candidates: readonly string[]): string | undefined {
  if (typed.length < PREFIX_CHARACTERS_MIN) return undefined
  const [first, ...more] = candidates.filter((candidate) => candidate.toLowerCase().startsWith(typed))
  return more.length === 0 ? first : undefined
}
