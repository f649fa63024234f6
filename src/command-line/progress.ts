import { forTerminal } from '../text.ts'
import { widthOf } from './columns.ts'
import type { Screen } from './command.ts'

const PATIENCE_MS = 1_000
const REDRAW_MS = 100
const BAR_CHARACTERS = 30

/** A progress bar, drawn only on a terminal and only after one second. */
export class Progress {
  readonly #what: string
  readonly #screen: Screen
  readonly #now: () => number
  #due: number
  #isShown = false
  /** The longest line that was shown. */
  #width = 0

  /** @param now In milliseconds, from any start. */
  constructor(what: string, screen: Screen, now = () => performance.now()) {
    this.#what = forTerminal(what)
    this.#screen = screen
    this.#now = now
    this.#due = now() + PATIENCE_MS
  }

  /** @param share From 0 to 1; undefined when the total is unknown. */
  show(share: number | undefined): void {
    if (this.#screen.isTTY !== true || this.#now() < this.#due) return
    this.#due = this.#now() + REDRAW_MS
    this.#isShown = true
    const line = `${this.#what} ${share === undefined ? '…' : bar(share)}`
    this.#width = Math.max(this.#width, widthOf(line))
    this.#screen.draw(`\r${line}`)
  }

  /** Clears the line, on a terminal of any kind. */
  end(): void {
    if (this.#isShown) this.#screen.draw(`\r${' '.repeat(this.#width)}\r`)
    this.#isShown = false
  }
}

function bar(share: number): string {
  const done = Math.round(share * BAR_CHARACTERS)
  const percent = `${Math.floor(share * 100)}`.padStart(3)
  return `[${'#'.repeat(done)}${' '.repeat(BAR_CHARACTERS - done)}] ${percent} %`
}
