/** How what is printed may look. */
export interface Look {
  /** Whether a person reads it, and no program. */
  readonly isTerminal: boolean
  /** Whether headings may be bold. */
  readonly isBold: boolean
}

/** @see https://no-color.org — a variable `NO_COLOR` that is not empty keeps everything plain. */
export function lookOf(output: { readonly isTTY?: boolean }, environment: NodeJS.ProcessEnv): Look {
  const isTerminal = output.isTTY === true
  const isPlainWanted = (environment.NO_COLOR ?? '') !== '' || environment.TERM === 'dumb'
  return { isTerminal, isBold: isTerminal && !isPlainWanted }
}

/** A heading, for a person at a terminal in bold. */
export function heading(text: string, look: Look): string {
  return look.isBold ? `\u001b[1m${text}\u001b[22m` : text
}
