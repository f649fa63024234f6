import { basename } from 'node:path'
import { accountsDocument, accountsMissing } from '../auth/accounts.ts'
import { describeMoment, hasEnded, NO_KEY, secondsOf } from '../auth/key-rotation.ts'
import { readKeys, type StoredKey } from '../auth/keys.ts'
import { openRevocationsFile, readRevocations, revocationsMissing } from '../auth/revocations-file.ts'
import { DamagedFileError, RESTORE_ADVICE, systemCode } from '../errors.ts'
import { auditFiles, type DataPaths, dataFiles } from '../files/data-folder.ts'
import type { FileSystem } from '../files/file-system.ts'
import { openJournalFile } from '../journal/journal-file.ts'
import type { JournalEnd } from '../journal/journal-reader.ts'
import { parseChange } from '../store/change.ts'
import { openSnapshot } from '../store/snapshot.ts'
import { type ReadJournal, readStoreBeside, type StoredState } from '../store/store-files.ts'
import { counted } from '../text.ts'
import { mustHaveJournal } from './used-folder.ts'

/** What is to be said of one file of a data folder. */
export interface Finding {
  readonly name: string
  readonly words: string
  /** Whether the file is missing, or is not what was written; then `words` tell where, why, and what to do. */
  readonly isDamage: boolean
}

/** What was found in a data folder. */
export interface Examination {
  readonly findings: readonly Finding[]
  /** Undefined when the records cannot be read. */
  readonly state: StoredState | undefined
}

const names: readonly string[] = Object.values(dataFiles)

const firstStartPending: Finding = {
  name: dataFiles.accounts,
  words: 'not yet there: a first start did not come to its end, and the next one begins anew',
  isDamage: false,
}

/**
 * Reads every file of a data folder, and changes nothing. A server may be writing it.
 */
export async function examineFolder(folder: DataPaths, files: FileSystem): Promise<Examination> {
  const entries = await files.readdir(folder.path)
  const isInUse = entries.includes(dataFiles.accounts)

  const { findings: ofStore, state } = await examineStore(folder, mustHaveJournal(entries), files)
  const hasRecords = state === undefined || state.index.revision > 0
  const ofSecrets = isInUse || hasRecords ? await examineSecrets(folder, files) : [firstStartPending]
  const others = entries
    .filter((entry) => entry === dataFiles.initialCredentials || !names.includes(entry))
    .map((name) => ({ name, words: describeOther(name), isDamage: false }))
  return { findings: [...ofSecrets, ...ofStore, ...others], state }
}

async function examineSecrets(folder: DataPaths, files: FileSystem): Promise<Finding[]> {
  let mayLackRevocations = false
  const accounts = await examine(dataFiles.accounts, async () => {
    const found = await accountsDocument(folder.path, files).read()
    if (found === undefined) throw accountsMissing(folder)
    return `${counted(found.users.length, 'user')}, ${counted(found.clients.length, 'client')}`
  })
  const keys = await examine(dataFiles.keys, async () => {
    const found = await readKeys(folder, true, files)
    mayLackRevocations = found.length === 0
    return describeKeys(found, secondsOf(Date.now()))
  })
  const revocations = await examine(dataFiles.revocations, async () => {
    const journal = await openRevocationsFile(folder, files, 'r')
    if (journal === undefined && mayLackRevocations) return 'not there: the next start makes it'
    if (journal === undefined) throw revocationsMissing(folder)
    return closeAfter(journal, async () => {
      const { ended, end } = await readRevocations(journal, folder)
      return `${counted(ended.size, 'ended credential')}${describeTail(end)}`
    })
  })
  return [...accounts, ...keys, ...revocations]
}

async function examineStore(folder: DataPaths, mustExist: boolean, files: FileSystem) {
  try {
    const state = await readStoreBeside(folder, mustExist, files)
    return { findings: describeState(state), state }
  } catch (error) {
    const { path, words } = asDamage(error)
    const name = basename(path)
    const others = await examineAlone(folder, name, files)
    return { findings: [{ name, words, isDamage: true }, ...others], state: undefined }
  }
}

/** @param now In seconds since 1970. */
function describeKeys([signing, ...superseded]: readonly StoredKey[], now: number): string {
  if (signing === undefined) return NO_KEY
  const older = superseded.filter((key) => !hasEnded(key, now))
  if (older.length === 0) return '1 signing key'
  const ends = older.flatMap(({ until }) => until ?? [])
  const until = ends.length === 0 ? '' : ` until ${describeMoment(Math.max(...ends))} at the latest`
  return `1 signing key; ${counted(older.length, 'superseded key')} to verify${until}`
}

function describeState({ snapshot, oldJournal, journal }: StoredState): Finding[] {
  const findings: Finding[] = []
  const add = (name: string, words: string) => findings.push({ name, words, isDamage: false })
  if (snapshot !== undefined)
    add(dataFiles.snapshot, `${counted(snapshot.count, 'record')}, up to revision ${snapshot.revision}`)
  if (oldJournal !== undefined)
    add(dataFiles.journalOld, `${describeJournal(oldJournal)}; it goes when the next snapshot is written`)
  if (journal !== undefined) add(dataFiles.journal, describeJournal(journal))
  return findings
}

/** When the files of a store cannot be read together, each of the others is looked at by itself. */
async function examineAlone(folder: DataPaths, damaged: string, files: FileSystem): Promise<Finding[]> {
  const words = 'by itself as it was written'
  const snapshot = async () => {
    const file = await openSnapshot(folder.file(dataFiles.snapshot), files)
    if (file === undefined) return undefined
    await closeAfter(file, () => file.read(() => {}))
    return words
  }
  const journal = async (name: typeof dataFiles.journal | typeof dataFiles.journalOld) => {
    const file = await openJournalFile(folder.file(name), files, 'r')
    if (file === undefined) return undefined
    await closeAfter(file, () => file.read(parseChange))
    return words
  }
  const findings = [
    ...(await examine(dataFiles.snapshot, snapshot)),
    ...(await examine(dataFiles.journalOld, () => journal(dataFiles.journalOld))),
    ...(await examine(dataFiles.journal, () => journal(dataFiles.journal))),
  ]
  return findings.filter(({ name }) => name !== damaged)
}

/** @param describe Gives the words for a file; undefined when it is absent and may be. */
async function examine(name: string, describe: () => Promise<string | undefined>): Promise<Finding[]> {
  try {
    const words = await describe()
    return words === undefined ? [] : [{ name, words, isDamage: false }]
  } catch (error) {
    return [{ name, words: asDamage(error).words, isDamage: true }]
  }
}

/** What is to be told of a file; throws what is no fault of one. A disk that cannot read it is as bad as damage. */
function asDamage(error: unknown): { path: string; words: string } {
  const isUnreadable = systemCode(error) === 'EIO'
  if (!(error instanceof Error && 'path' in error && typeof error.path === 'string')) throw error
  if (!(error instanceof DamagedFileError) && !isUnreadable) throw error
  return { path: error.path, words: isUnreadable ? `${error.message}; ${RESTORE_ADVICE}` : error.message }
}

async function closeAfter<T>(file: { close(): Promise<void> }, use: () => Promise<T>): Promise<T> {
  try {
    return await use()
  } finally {
    await file.close()
  }
}

function describeJournal({ file, end }: ReadJournal): string {
  const changes = counted(end.revision - file.header.after, 'change')
  return `${changes}, up to revision ${end.revision}${describeTail(end)}`
}

function describeTail({ tornBytes }: JournalEnd): string {
  if (tornBytes === 0) return ''
  return `; then ${counted(tornBytes, 'byte')} of a change that is just being written, or that a crash cut off`
}

function describeOther(name: string): string {
  if (auditFiles.some((file) => file === name)) return 'who did what; not examined'
  if (name === dataFiles.initialCredentials)
    return 'secrets of the first start, in the clear; each goes when it is changed'
  if (/\.torn-\d+-[0-9a-f]+$/.test(name)) return 'a half-written end that a crash left, cut off and kept'
  if (name.startsWith('before-restore-')) return 'what was there before a restore'
  if (/^\..+\.tmp$/.test(name))
    return 'being written, or left by a crash; then the next to write the file removes it'
  return 'not of connbook, which leaves it alone'
}
