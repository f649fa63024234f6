/** Characters that show nothing, or change the direction of what follows; joiners inside an emoji do not count. */
const HIDDEN =
  /(?<!\p{Extended_Pictographic}\p{EMod}?\ufe0f?)\u200d|(?<!\p{Emoji})\ufe0f|(?![\u200d\ufe0f])[\p{DI}\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u2800]|(?! )\p{Zs}|^ +| +$| {2,}/gu

/** A part of a text. */
export interface Segment {
  readonly text: string
  /** What to show in its place: `U+202E`, or `␣` for a space that one would overlook. */
  readonly mark?: string
}

/**
 * Cuts a text before and after each hidden character; the texts of all segments together are the text.
 *
 * @see Unicode Technical Report 36, section 2 (visual security)
 */
export function splitHidden(text: string): readonly Segment[] {
  const segments: Segment[] = []
  let end = 0
  for (const { 0: hidden, index } of text.matchAll(HIDDEN)) {
    if (index > end) segments.push({ text: text.slice(end, index) })
    segments.push(...[...hidden].map((character) => ({ text: character, mark: markOf(character) })))
    end = index + hidden.length
  }
  if (end < text.length) segments.push({ text: text.slice(end) })
  return segments
}

function markOf(character: string): string {
  if (character === ' ') return '\u2423'
  const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')
  return `U+${code}`
}
