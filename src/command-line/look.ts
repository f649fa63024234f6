/** How output may look. */
export interface Look {
  readonly isTerminal: boolean
  readonly isBold: boolean
}

/** @see https://no-color.org — a non-empty `NO_COLOR` means plain output. */
export function lookOf(output: { readonly isTTY?: boolean }, environment: NodeJS.ProcessEnv): Look {
  const isTerminal = output.isTTY === true
  const isPlainWanted = (environment.NO_COLOR ?? '') !== '' || environment.TERM === 'dumb'
  return { isTerminal, isBold: isTerminal && !isPlainWanted }
}

export function heading(text: string, look: Look): string {
  return look.isBold ? `\u001b[1m${text}\u001b[22m` : text
}
