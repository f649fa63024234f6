import { DamagedFileError } from '../errors.ts'
import { type DataPaths, dataFiles } from '../files/data-folder.ts'
import type { FileSystem } from '../files/file-system.ts'
import { GroupCommit } from '../journal/group-commit.ts'
import { Journal } from '../journal/journal.ts'
import type { JournalFile, JournalPosition } from '../journal/journal-file.ts'
import type { Log } from '../log.ts'
import { type Clock, createClock, RememberedClock } from './clock.ts'
import { EndedCredentials, type Revocations } from './ended-credentials.ts'
import {
  createRevocations,
  openRevocationsFile,
  REVOCATIONS_VERSION,
  type RevocationChange,
  readRevocations,
  revocationsMissing,
  type StoredRevocations,
} from './revocations-file.ts'

/** A smaller revocations file is not worth rewriting. */
export const REVOCATIONS_BYTES_MIN = 1024 * 1024

/** The revocations in a journal of a folder. */
class FolderRevocations implements Revocations {
  readonly clock: Clock
  readonly #ended = new EndedCredentials()
  readonly #floor: RememberedClock
  readonly #journal: Journal
  readonly #changes: GroupCommit<RevocationChange>
  readonly #log: Log
  #rewriteDueBytes = 0
  #rewriting: Promise<void> | undefined

  constructor(
    { path, header }: JournalFile,
    position: JournalPosition,
    { ended, passed }: StoredRevocations,
    clock: Clock,
    log: Log,
    files: FileSystem,
    isServed: boolean,
  ) {
    this.clock = clock
    for (const [jti, exp] of ended) this.#ended.add(jti, exp)
    const keep = (moment: number) => (isServed ? this.#changes.add({ passed: moment }) : Promise.resolve())
    this.#floor = new RememberedClock(clock, passed, keep, log)
    this.#log = log
    this.#journal = new Journal(path, header.store, position, () => this.#rewrite(), log, files)
    this.#changes = new GroupCommit(this.#journal, (change) => this.#apply(change))
  }

  get isWritable(): boolean {
    return this.#journal.isWritable
  }

  has(jti: string): boolean {
    return this.#ended.has(jti)
  }

  async add(jti: string, exp: number): Promise<void> {
    const arrived = this.#ended.expect(jti)
    try {
      await this.#changes.add({ jti, exp })
    } finally {
      arrived()
    }
  }

  hasRoom(generation: number): boolean {
    return this.#ended.hasRoom(generation, Math.floor(this.clock.now() / 1000))
  }

  /** The next rewriting removes them from the file. */
  dropGeneration(generation: number): void {
    this.#ended.dropGeneration(generation)
  }

  rememberExpired(exp: number): void {
    this.#floor.rememberExpired(exp)
  }

  get remembering(): Promise<void> | undefined {
    return this.#floor.remembering
  }

  /** Drops expired credentials and writes the rest to a new file. */
  async #rewrite() {
    await this.#journal.restart(REVOCATIONS_VERSION, () => {
      const passed = Math.floor(this.clock.now())
      this.#ended.dropExpired(Math.floor(passed / 1000))
      return [{ passed }, ...Array.from(this.#ended, ([jti, exp]) => ({ jti, exp }))]
    })
    this.#rewriteDueBytes = Math.max(REVOCATIONS_BYTES_MIN, 2 * this.#journal.size)
  }

  async close(): Promise<void> {
    await this.#floor.close()
    await this.#changes.end()
    await this.#rewriting
    await this.#journal.close()
  }

  /** Rewrites the file in the background if it has grown enough; call it after opening, too. */
  rewriteIfDue(): void {
    if (this.#rewriting !== undefined || this.#journal.size < this.#rewriteDueBytes) return
    this.#rewriting = this.#rewrite()
      .catch((error: unknown) => {
        this.#log.error('revocations_not_compacted', { reason: String(error) })
        this.#rewriteDueBytes = this.#journal.size + REVOCATIONS_BYTES_MIN
      })
      .finally(() => {
        this.#rewriting = undefined
      })
  }

  #apply(change: RevocationChange) {
    if ('jti' in change) this.#ended.add(change.jti, change.exp)
    this.rewriteIfDue()
  }
}

/**
 * Reads the ended credentials of a folder.
 *
 * @param mustExist Whether a missing file is damage; if not, it is created.
 * @param makeClock As `createClock`.
 * @param isReadOnly Whether nothing can be written: then no credential may be ended.
 * @param isServed Whether credentials are checked: otherwise nothing is written before one is ended.
 * @throws {DamagedFileError} if the file is not what was written, a torn tail excepted.
 */
export async function openRevocations(
  folder: DataPaths,
  {
    mustExist,
    log,
    makeClock = createClock,
    isReadOnly = false,
    isServed = true,
  }: {
    mustExist: boolean
    log: Log
    makeClock?: (notBefore: number) => Clock
    isReadOnly?: boolean
    isServed?: boolean
  },
): Promise<Revocations> {
  let file = await openRevocationsFile(folder, isReadOnly ? 'r' : 'r+')
  if (file === undefined && !mustExist) {
    await createRevocations(folder)
    file = await openRevocationsFile(folder)
    if (file === undefined)
      throw new DamagedFileError(folder.file(dataFiles.revocations), 0, 'the file vanished', 'start again')
  }
  if (file === undefined) throw revocationsMissing(folder)
  const stored = await readRevocations(file, folder)
  const position = isReadOnly ? file.positionAt(stored.end) : await file.cut(stored.end, log)
  const revocations = new FolderRevocations(
    file,
    position,
    stored,
    makeClock(stored.passed),
    log,
    folder.files,
    isServed,
  )
  if (isServed) revocations.rewriteIfDue()
  return revocations
}
