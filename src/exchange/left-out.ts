import { allOf } from '../text.ts'
import { type ImportWarning, LINES_LISTED_MAX } from './row.ts'

/** Kinds of what is left out that are named; as many warnings as an answer has. */
const KINDS_MAX = 100

interface Kind {
  readonly lines: number[]
  count: number
}

/** What a reader leaves out, by its kind, with the first lines of each. */
export class LeftOutLines {
  readonly #kinds = new Map<string, Kind>()

  /** @param kind Such as "connect_timeout was left out". */
  add(kind: string, line: number): void {
    const known = this.#kinds.get(kind)
    if (known !== undefined) {
      known.count += 1
      if (known.lines.length < LINES_LISTED_MAX) known.lines.push(line)
    } else if (this.#kinds.size < KINDS_MAX) this.#kinds.set(kind, { lines: [line], count: 1 })
  }

  /** In the order in which the kinds came; those first for which `isFirst` is true. */
  warnings(isFirst: (kind: string) => boolean = () => false): ImportWarning[] {
    const listed = [...this.#kinds].map(([kind, { lines, count }]) => {
      const more = count - lines.length
      const places = [...lines.map(String), ...(more > 0 ? [`${more} more`] : [])]
      return { line: lines[0] ?? 1, kind, detail: count === 1 ? kind : `${kind}: lines ${allOf(places)}` }
    })
    listed.sort((a, b) => Number(isFirst(b.kind)) - Number(isFirst(a.kind)))
    return listed.map(({ line, detail }) => ({ line, detail }))
  }
}
