import type { Accounts } from '../auth/accounts.ts'
import { accountsDocument } from '../auth/accounts-file.ts'
import { type InitialCredentials, writeInitialCredentials } from '../auth/initial-credentials.ts'
import { createKeys } from '../auth/keys.ts'
import { createRevocations } from '../auth/revocations-file.ts'
import { ConnbookError, systemCode } from '../errors.ts'
import { type DataPaths, dataPaths, stateFiles } from '../files/data-folder.ts'
import { finishReplacement, prepareReplacement } from '../files/folder-replacement.ts'
import { createStore, type FirstRecords } from '../storage/file/file-storage.ts'
import { type KeptEntry, writeKeptHistory } from './kept-history.ts'

/** The new files could not be written; the folder is as it was. */
export class RestoreFailedError extends ConnbookError {
  readonly code = 'restore_failed'
}

/** The restore is committed, but not all files are in their places. */
export class RestoreIncompleteError extends ConnbookError {
  readonly code = 'restore_incomplete'
}

/** What a folder is to hold; a backup has it, too. */
export interface NewState extends FirstRecords {
  readonly accounts: Accounts
  /** What goes before the history that begins now; nothing if absent. */
  readonly history?: readonly KeptEntry[]
}

const words = {
  restore: { refused: 'Cannot restore to', begun: 'The restore to' },
  recover: { refused: 'Cannot recover', begun: 'The recovery of' },
}

/**
 * Replaces what a folder holds, with a new store id and new keys.
 *
 * @param initialCredentials Kept in plain text beside the accounts.
 * @param command The command that does it, for the words of errors.
 * @returns The folder that keeps the old files; undefined if there were none.
 * @throws {RestoreFailedError} {RestoreIncompleteError}
 */
export async function replaceState(
  { path: folder, files }: DataPaths,
  state: NewState,
  initialCredentials: InitialCredentials = {},
  command: keyof typeof words = 'restore',
): Promise<string | undefined> {
  const replacement = await prepareReplacement(folder, files).catch((error: unknown) => {
    throw notReplaced(folder, command, error)
  })
  try {
    const paths = dataPaths(replacement.path, files)
    const store = await createStore(paths, state)
    if (state.history !== undefined) await writeKeptHistory(paths, store, state.history)
    await createRevocations(paths)
    await createKeys(paths)
    if (Object.keys(initialCredentials).length > 0) await writeInitialCredentials(paths, initialCredentials)
    await accountsDocument(paths).write(state.accounts)
    await replacement.commit()
  } catch (error) {
    // What stays is swept when the folder is next opened.
    await replacement.abort().catch(() => {})
    throw notReplaced(folder, command, error)
  }
  try {
    return await finishReplacement(folder, stateFiles, files)
  } catch (error) {
    const reason = systemCode(error) ?? error
    const message = `${words[command].begun} "${folder}" is not complete (${reason}); start connbook, which completes it`
    throw new RestoreIncompleteError(message, { cause: error })
  }
}

/** Wraps a system error to say that nothing has changed; any other error stays as it is. */
function notReplaced(folder: string, command: keyof typeof words, error: unknown): unknown {
  const code = systemCode(error)
  if (error instanceof ConnbookError || code === undefined) return error
  const advice = 'nothing has changed; see whether the disk works and has room'
  return new RestoreFailedError(`${words[command].refused} "${folder}" (${code}); ${advice}`, {
    cause: error,
  })
}
