import { type DataPaths, dataFiles } from '../../files/data-folder.ts'
import type { Configuration } from '../../store/configuration.ts'
import { type SalvagedJournal, salvageJournal } from './salvaged-journal.ts'
import { type SalvagedSnapshot, salvageSnapshot } from './salvaged-snapshot.ts'
import { type RevisionRange, SalvagedState } from './salvaged-state.ts'

/** What can be read of damaged records. */
export interface SalvagedRecords {
  /** Id of the store; undefined when no file names it. */
  readonly store: string | undefined
  /** By rising id. */
  readonly records: readonly Configuration[]
  /** Revision of the last change that was found. */
  readonly revision: number
  /** No higher id can have been given up to `revision`. */
  readonly lastId: number
  /** Revisions up to `revision` whose changes are lost, rising. */
  readonly missing: readonly RevisionRange[]
  /** Changes that were read, but do not fit the records that were read. */
  readonly misfits: number
  /** Records that were read, but whose names others have: a renaming or removal is lost, or a name is damaged. */
  readonly displaced: readonly Configuration[]
  /** Records of the snapshot that cannot be read; undefined when its header is lost, too. */
  readonly unreadable: number | undefined
  /** Whether records of a damaged snapshot were read, which no checksum covers. */
  readonly isUnverified: boolean
  /** Files that were left out, because they belong to another store. */
  readonly foreign: readonly string[]
}

/**
 * Reads what can be read of damaged records. Changes nothing; no server may be writing. For sound files it gives the records
 * that `readStore` gives.
 *
 * @throws {DamagedFileError} if a newer connbook wrote a file, with the advice to use that one.
 */
export async function salvageStore(folder: DataPaths): Promise<SalvagedRecords> {
  const snapshot = await salvageSnapshot(folder.file(dataFiles.snapshot), folder.files)
  const foundOld = await salvageJournal(folder.file(dataFiles.journalOld), folder.files)
  const found = await salvageJournal(folder.file(dataFiles.journal), folder.files)
  const store = storeOf(snapshot, foundOld, found)
  const foreign: string[] = []
  const old = ownOnly(foundOld, dataFiles.journalOld)
  const journal = ownOnly(found, dataFiles.journal)

  const state = new SalvagedState()
  const unreadable = loadSnapshot(state, snapshot, startOf(old) ?? startOf(journal))
  for (const { file, upTo } of [
    { file: old, upTo: endOfOld(old, journal) },
    { file: journal, upTo: Number.POSITIVE_INFINITY },
  ]) {
    state.advance(startOf(file) ?? 0)
    for (const frame of file?.frames ?? []) state.apply(frame, upTo)
  }
  const highestIds = [snapshot, foundOld, found].map((file) => file?.highestId ?? 0)
  return {
    store,
    records: state.records,
    revision: Math.max(state.revision, snapshot?.revision ?? 0),
    lastId: Math.max(state.lastId, snapshot?.lastId ?? 0, ...highestIds),
    missing: state.missing,
    misfits: state.misfits,
    displaced: state.displaced,
    unreadable,
    isUnverified: snapshot?.isSound === false && snapshot.records.length > 0,
    foreign,
  }

  function ownOnly(file: SalvagedJournal | undefined, name: string): SalvagedJournal | undefined {
    if (file?.header === undefined || file.header.store === store) return file
    foreign.push(name)
    return undefined
  }
}

/** The header of a journal has a checksum of its own; that of a damaged snapshot has none. */
function storeOf(
  snapshot: SalvagedSnapshot | undefined,
  ...journals: (SalvagedJournal | undefined)[]
): string | undefined {
  const [first, second] = journals.map((journal) => journal?.header?.store)
  return (snapshot?.isSound ? snapshot.store : undefined) ?? first ?? second ?? snapshot?.store
}

/**
 * @param journalsBegin Revision before the first change of the journals; undefined when there is none.
 * @returns How many of its records cannot be read; undefined if that is unknown.
 */
function loadSnapshot(
  state: SalvagedState,
  snapshot: SalvagedSnapshot | undefined,
  journalsBegin: number | undefined,
): number | undefined {
  if (snapshot === undefined) return 0
  const { isSound, revision = 0, lastId, count, records } = snapshot
  const loaded = records.filter((record) => state.load(record)).length
  if (isSound) {
    state.begin(revision, lastId ?? 0, 0)
    return 0
  }
  // The revision may be damaged, too. The journals begin before it, so all their changes lead to the same records.
  const begin = journalsBegin ?? revision
  state.begin(begin, lastId ?? begin, snapshot.revision ?? Number.POSITIVE_INFINITY)
  return count && Math.max(0, count - loaded)
}

/** Revision before the first change of a journal. */
function startOf(journal: SalvagedJournal | undefined): number | undefined {
  const first = journal?.frames[0]?.firstRevision
  return journal?.header?.after ?? (first && first - 1)
}

/**
 * The last revision that counts of the old journal: it may end with a frame of refused changes, after the start of the
 * new one. If it has more than that, the new one is not its sequel, and the old one counts.
 */
function endOfOld(old: SalvagedJournal | undefined, journal: SalvagedJournal | undefined): number {
  const start = startOf(journal)
  if (start === undefined) return Number.POSITIVE_INFINITY
  // The revision of an unchecked frame may be damaged.
  const lastFrame = old?.frames.findLast(({ isChecked }) => isChecked)
  const isSequel = lastFrame === undefined || start >= lastFrame.firstRevision - 1
  return isSequel ? start : Number.POSITIVE_INFINITY
}
