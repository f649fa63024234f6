const STAR = '*'.charCodeAt(0)
const ANY = '?'.charCodeAt(0)

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
export function matchesPattern(text: string, pattern: string, spend: (steps: number) => void): boolean {
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
