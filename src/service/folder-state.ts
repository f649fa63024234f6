import { accountsDocument } from '../auth/accounts-file.ts'
import { folderCredentials, folderKeys } from '../auth/folder-credentials.ts'
import { openRevocations } from '../auth/folder-revocations.ts'
import { prepareKeys, secondsOf } from '../auth/key-rotation.ts'
import { checkRevocations } from '../auth/revocations-file.ts'
import { checkNoNode } from '../folder/node-folder.ts'
import { checkNeverStarted } from '../folder/used-folder.ts'
import { openConfigurationStore } from '../storage/file/file-storage.ts'
import { createFirstAccounts, givenVariables, readFirstStartValues } from './first-start.ts'
import type { OpenedState, StateParts } from './opened-state.ts'

/**
 * Reads the state that a data folder keeps; a first start makes what is missing.
 *
 * @throws {UsageError} {FolderRefusedError} {DamagedFileError}
 */
export async function openFolderState({
  folder,
  environment,
  audit,
  log,
  scheduler,
  ttlSeconds,
  makeClock,
  catchUpCredentials,
  signal,
  opened,
}: StateParts): Promise<OpenedState> {
  await checkNoNode(folder)
  const known = await accountsDocument(folder).read()
  const mustExist = known !== undefined
  const storedKeys = folderKeys(folder, mustExist)
  const revocationsMustExist = (await storedKeys.read()).length > 0
  // Everything is read before anything is changed, so that a refused folder stays as it was.
  await checkRevocations(folder, revocationsMustExist)
  if (known === undefined) await checkNeverStarted(folder)
  const before =
    known === undefined || known.isPrepared
      ? { values: await readFirstStartValues(environment, signal) }
      : { accounts: known, madeUp: undefined, ignored: givenVariables(environment) }
  const store = await openConfigurationStore(folder, {
    ...{ mustExist, log, trail: audit, scheduler },
    beforeFrame: catchUpCredentials,
  })
  opened.defer(() => store.close())
  const revocations = await openRevocations(folder, {
    mustExist: revocationsMustExist,
    log,
    ...(makeClock ? { makeClock } : {}),
  })
  opened.defer(() => revocations.close())
  // After the revocations: even after a crash, a folder with keys has revocations.
  const keys = await prepareKeys(storedKeys, ttlSeconds, secondsOf(revocations.clock.now()))
  const first = before.values === undefined ? before : await createFirstAccounts(folder, before.values)
  return {
    ...first,
    store,
    cookieId: store.id,
    revocations,
    keys,
    credentials: folderCredentials(folder),
    listedAfter: undefined,
    whyNotWritable: () =>
      store.isWritable && revocations.isWritable ? undefined : 'The disk failed, and changes are refused',
    guard: undefined,
    failed: new Promise(() => {}),
  }
}
