import type { Screen } from './command.ts'

const PATIENCE_MS = 1_000
const REDRAW_MS = 100
const BAR_CHARACTERS = 30

export interface Progress {
  /** @param share From 0 to 1; undefined when the total is unknown. */
  show(share: number | undefined): void
  /** Clears the line. */
  end(): void
}

/** A progress bar, drawn only on a terminal and only after one second. @param now In milliseconds, from any start. */
export function createProgress(
  what: string,
  screen: Screen,
  now: () => number = () => performance.now(),
): Progress {
  let due = now() + PATIENCE_MS
  let isShown = false
  return {
    show(share) {
      if (screen.isTTY !== true || now() < due) return
      due = now() + REDRAW_MS
      isShown = true
      screen.write(`\r${what} ${share === undefined ? '…' : bar(share)}`)
    },
    end() {
      if (isShown) screen.write('\r\u001b[K')
      isShown = false
    },
  }
}

function bar(share: number): string {
  const done = Math.round(share * BAR_CHARACTERS)
  const percent = `${Math.floor(share * 100)}`.padStart(3)
  return `[${'#'.repeat(done)}${' '.repeat(BAR_CHARACTERS - done)}] ${percent} %`
}
