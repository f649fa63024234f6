import type { Command } from '../../command-line/command.ts'
import { exitCodes } from '../../command-line/exit-codes.ts'

/** Exit codes of commands that work on a folder, or call a server. */
export const elsewhereExitCodes: NonNullable<Command['exitCodes']> = {
  5: exitCodes[5].meaning,
  6: exitCodes[6].meaning,
}

/** Exit codes of every command that calls a server. */
export const clientExitCodes: NonNullable<Command['exitCodes']> = {
  2: 'not understood, or not valid; nothing has changed',
  ...elsewhereExitCodes,
}

/** Exit codes of commands that name a record. */
export const recordExitCodes: NonNullable<Command['exitCodes']> = {
  ...clientExitCodes,
  3: 'no such record; nothing has changed',
}

/** Exit codes of commands that change a record. */
export const changeExitCodes: NonNullable<Command['exitCodes']> = {
  ...recordExitCodes,
  4: 'the name is taken, or the record has changed; nothing has changed',
}
