import { type DataPaths, dataFiles } from '../../files/data-folder.ts'
import type { Change } from '../../store/change.ts'
import type { Configuration } from '../../store/configuration.ts'
import { type SalvagedFrame, type SalvagedJournal, salvageJournal } from './salvaged-journal.ts'
import { type SalvagedSnapshot, salvageSnapshot } from './salvaged-snapshot.ts'

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

/** A stretch of revisions, both ends included. */
export interface RevisionRange {
  readonly first: number
  readonly last: number
}

/**
 * Records with changes that may have gaps between them. A change holds the whole record, so the latest one that was
 * read counts, whatever is known of the record before.
 */
class SalvagedState {
  readonly #byId = new Map<number, Configuration>()
  readonly #byName = new Map<string, Configuration>()
  readonly #displaced = new Map<number, Configuration>()
  readonly #missing: RevisionRange[] = []
  #revision = 0
  #lastId = 0
  #misfits = 0
  #containedUpTo = 0

  /** Revision of the last change. */
  get revision(): number {
    return this.#revision
  }

  /** The highest id that can have been given: each missing change may have been an addition. */
  get lastId(): number {
    return this.#lastId
  }

  get missing(): readonly RevisionRange[] {
    return this.#missing
  }

  get misfits(): number {
    return this.#misfits
  }

  /** Records whose names others have. */
  get displaced(): readonly Configuration[] {
    return byId(this.#displaced)
  }

  /** By rising id. */
  get records(): readonly Configuration[] {
    return byId(this.#byId)
  }

  /** Adds a record of the snapshot. @returns false if there is one with its id. */
  load(record: Configuration): boolean {
    if (this.#byId.has(record.id)) return false
    if (this.#byName.has(record.name)) {
      this.#displaced.set(record.id, record)
      return true
    }
    this.#byId.set(record.id, record)
    this.#byName.set(record.name, record)
    return true
  }

  /**
   * Begins to apply changes after a revision.
   *
   * @param containedUpTo Changes up to this revision may be in the records already, so that they do not fit.
   */
  begin(revision: number, lastId: number, containedUpTo: number): void {
    this.#revision = revision
    this.#lastId = lastId
    this.#containedUpTo = containedUpTo
  }

  /** Notes that the next change comes after a revision; all before it that were not applied are missing. */
  advance(revision: number): void {
    if (revision <= this.#revision) return
    this.#missing.push({ first: this.#revision + 1, last: revision })
    this.#lastId += revision - this.#revision
    this.#revision = revision
  }

  /** Applies the changes of a frame up to a revision, without those that came before. */
  apply({ firstRevision, changes }: SalvagedFrame, upTo: number): void {
    for (const [i, change] of changes.entries()) {
      const revision = firstRevision + i
      if (revision <= this.#revision || revision > upTo) continue
      this.advance(revision - 1)
      this.#revision = revision
      if (!this.#applyOne(change) && revision > this.#containedUpTo) this.#misfits += 1
    }
  }

  /** @returns false if the change does not fit. */
  #applyOne(change: Change | undefined): boolean {
    if (change === undefined) return false
    if ('remove' in change) {
      const record = this.#byName.get(change.remove)
      if (record !== undefined) this.#take(record)
      return record !== undefined
    }
    if ('add' in change) this.#lastId = change.add.id
    this.#put('add' in change ? change.add : change.modify)
    return true
  }

  #put(record: Configuration) {
    const before = this.#byId.get(record.id)
    if (before !== undefined) this.#take(before)
    // The name was free, so its holder had been renamed or removed by a change that is missing.
    const holder = this.#byName.get(record.name)
    if (holder !== undefined) {
      this.#take(holder)
      this.#displaced.set(holder.id, holder)
    }
    this.#byId.set(record.id, record)
    this.#byName.set(record.name, record)
    this.#displaced.delete(record.id)
  }

  #take({ id, name }: Configuration) {
    this.#byId.delete(id)
    this.#byName.delete(name)
  }
}

function byId(records: ReadonlyMap<number, Configuration>): Configuration[] {
  return [...records.values()].sort((a, b) => a.id - b.id)
}
