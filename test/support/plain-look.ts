import type { Look } from '../../src/command-line/look.ts'

/** As a program that reads the output gets it. */
export const plainLook: Look = { isTerminal: false, isBold: false, columns: 80 }
