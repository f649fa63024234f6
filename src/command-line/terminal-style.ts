import { styleText } from 'node:util'

/** What output may use: width, bold, and whether a person reads it at a terminal. */
export interface TerminalStyle {
  readonly isTerminal: boolean
  readonly isBold: boolean
  /** Width of a line of text in terminal cells. */
  readonly columns: number
  /** The terminal's own width; absent for a pipe or a file, and if the terminal does not report it. */
  readonly terminalColumns?: number
}

/** For a pipe or a file, and a terminal that does not report its width. */
const COLUMNS_DEFAULT = 80
/** Longer lines are hard to read. */
const COLUMNS_MAX = 100
const COLUMNS_MIN = 40

/** @see https://no-color.org — a non-empty `NO_COLOR` means plain output. */
export function terminalStyleOf(
  output: { readonly isTTY?: boolean; readonly columns?: number },
  environment: NodeJS.ProcessEnv,
): TerminalStyle {
  const isTerminal = output.isTTY === true
  const isPlainWanted = (environment.NO_COLOR ?? '') !== '' || !knowsEscapes(environment)
  // A terminal can report a width of 0.
  const reported = (isTerminal && output.columns) || COLUMNS_DEFAULT
  const columns = Math.min(COLUMNS_MAX, Math.max(COLUMNS_MIN, reported))
  const isBold = isTerminal && !isPlainWanted
  return isTerminal && output.columns
    ? { isTerminal, isBold, columns, terminalColumns: output.columns }
    : { isTerminal, isBold, columns }
}

/** Not a terminal of which nothing is known; Windows sets no TERM. */
function knowsEscapes({ TERM: term = '' }: NodeJS.ProcessEnv): boolean {
  return term === '' ? process.platform === 'win32' : term !== 'dumb'
}

export function heading(text: string, style: TerminalStyle): string {
  return style.isBold ? styleText('bold', text, { validateStream: false }) : text
}
