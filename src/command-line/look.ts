import { styleText } from 'node:util'

/** How output may look. */
export interface Look {
  readonly isTerminal: boolean
  readonly isBold: boolean
  /** Width of a line in terminal cells. */
  readonly columns: number
}

/** For a pipe or a file, and a terminal that does not tell its width. */
const COLUMNS_DEFAULT = 80
/** Longer lines are hard to read. */
const COLUMNS_MAX = 100
const COLUMNS_MIN = 40

/** @see https://no-color.org — a non-empty `NO_COLOR` means plain output. */
export function lookOf(
  output: { readonly isTTY?: boolean; readonly columns?: number },
  environment: NodeJS.ProcessEnv,
): Look {
  const isTerminal = output.isTTY === true
  const isPlainWanted = (environment.NO_COLOR ?? '') !== '' || environment.TERM === 'dumb'
  // A terminal can tell a width of 0.
  const told = (isTerminal && output.columns) || COLUMNS_DEFAULT
  const columns = Math.min(COLUMNS_MAX, Math.max(COLUMNS_MIN, told))
  return { isTerminal, isBold: isTerminal && !isPlainWanted, columns }
}

export function heading(text: string, look: Look): string {
  return look.isBold ? styleText('bold', text, { validateStream: false }) : text
}
