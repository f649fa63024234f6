import type { TerminalStyle } from '../../src/command-line/terminal-style.ts'

/** As a program that reads the output gets it. */
export const plainStyle: TerminalStyle = { isTerminal: false, isBold: false, columns: 80 }
