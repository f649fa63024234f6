interface ExitCodeDescription {
  readonly meaning: string
  /** For the overview; absent where only a shell gives the code, because a signal ended the command. */
  readonly brief?: string
}

/** Every exit code; sysexits.h calls 65 EX_DATAERR and 75 EX_TEMPFAIL. */
export const exitCodes = {
  0: { meaning: 'done; or, for the server, stopped as asked', brief: 'done, or stopped as asked' },
  1: { meaning: 'something else went wrong; standard error says what', brief: 'something else went wrong' },
  2: {
    meaning: 'a wrong flag, word or variable; nothing has changed',
    brief: 'a wrong flag, word or variable',
  },
  3: { meaning: 'no such account or record; nothing has changed', brief: 'no such account or record' },
  4: {
    meaning: 'the account exists already, the name is taken, or the record has changed; nothing has changed',
    brief: 'it exists already, or has changed',
  },
  5: {
    meaning: 'not let in: no login, an ended one, or one that may not do this',
    brief: 'not let in',
  },
  6: {
    meaning: 'server not reached, without an answer, or with an untrusted certificate',
    brief: 'server not reached, or not to be trusted',
  },
  65: { meaning: 'damaged data; the message names file, place and remedy', brief: 'damaged data' },
  75: {
    meaning: 'the data folder is in use by another process, or is that of another node',
    brief: 'the data folder is in use',
  },
  130: { meaning: 'SIGINT (Ctrl-C) ended a command; `backup` ends with 1 instead' },
  143: { meaning: 'SIGTERM ended a command; `backup` ends with 1 instead' },
} as const satisfies Record<number, ExitCodeDescription>

export type ExitCode = keyof typeof exitCodes

/** What codes mean for one command, where that is more than the table says. */
export type CommandExitCodes = { readonly [Code in ExitCode]?: string }

/** Exit codes of commands that work on the book of a folder alone. */
export const folderExitCodes: CommandExitCodes = { 65: exitCodes[65].meaning, 75: exitCodes[75].meaning }

/** Exit codes of every command that works on a book: in a folder, or at a server. */
export const bookExitCodes: CommandExitCodes = {
  5: exitCodes[5].meaning,
  6: exitCodes[6].meaning,
  ...folderExitCodes,
}

/** Exit codes of commands whose input a server may find not valid. */
export const clientExitCodes: CommandExitCodes = {
  2: 'not understood, or not valid; nothing has changed',
  ...bookExitCodes,
}

/** Exit codes of commands that name a record. */
export const recordExitCodes: CommandExitCodes = {
  ...clientExitCodes,
  3: 'no such record; nothing has changed',
}

/** Exit codes of commands that change a record. */
export const changeExitCodes: CommandExitCodes = {
  ...recordExitCodes,
  4: 'the name is taken, or the record has changed; nothing has changed',
}
