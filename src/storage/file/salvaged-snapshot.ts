import { DamagedFileError, inFile, NewerFormError, RESTORE_ADVICE } from '../../errors.ts'
import type { FileSystem } from '../../files/file-system.ts'
import { isNewerVersion, isObject, parseJson } from '../../json.ts'
import { parseStoredRecord } from '../../store/change.ts'
import type { Configuration } from '../../store/configuration.ts'
import { forEachReadableLine, highestIdIn, isPlausible, readTolerantly } from './salvaged-journal.ts'
import { openSnapshot, snapshotKind } from './snapshot.ts'

/** What can be read of a snapshot; members of its header are undefined where they are lost. */
export interface SalvagedSnapshot {
  readonly store: string | undefined
  readonly revision: number | undefined
  /** The highest id ever given. */
  readonly lastId: number | undefined
  readonly count: number | undefined
  readonly records: readonly Configuration[]
  /** The highest that any line names, also one that is not a record. */
  readonly highestId: number
  /** Whether all of it was read, and the checksum holds. */
  readonly isSound: boolean
}

type Header = Pick<SalvagedSnapshot, 'store' | 'revision' | 'lastId' | 'count'>

/**
 * Reads every line of a snapshot that is a record, whatever the others are.
 *
 * @returns undefined when there is no such file.
 * @throws {DamagedFileError} if a newer connbook wrote it.
 */
export async function salvageSnapshot(
  path: string,
  files: FileSystem,
): Promise<SalvagedSnapshot | undefined> {
  let header: Partial<Header> = {}
  const records: Configuration[] = []
  let highestId = 0
  const isThere = await readTolerantly(path, files, (file) =>
    forEachReadableLine(file, (line, offset) => {
      if (offset === 0) header = parseHeader(line, path)
      for (const record of recordsIn(line)) records.push(record)
      highestId = Math.max(highestId, highestIdIn(line))
    }),
  )
  if (!isThere) return undefined
  const { store, revision, lastId, count } = header
  return {
    store,
    revision,
    lastId,
    count,
    records: records.filter(isInOrder),
    highestId,
    isSound: await isSound(path, files),
  }
}

function parseHeader(line: Buffer, path: string): Partial<Header> {
  const members = parseJson(`${line.toString('utf8')}]}`)
  if (!isObject(members) || members.format !== snapshotKind.format) return {}
  if (isNewerVersion(members.version, snapshotKind.version)) {
    const newer = new NewerFormError(
      `${snapshotKind.format} version ${members.version}`,
      snapshotKind.version,
    )
    throw inFile(path, 0, newer, RESTORE_ADVICE)
  }
  const { store, revision, lastId, count } = members
  return {
    store: typeof store === 'string' ? store : undefined,
    revision: isPlausible(revision) ? revision : undefined,
    lastId: isPlausible(lastId) ? lastId : undefined,
    count: isPlausible(count) ? count : undefined,
  }
}

/** Several where the line breaks between them are lost. */
function recordsIn(line: Buffer): Configuration[] {
  const parsed = parseJson(`[${line.toString('utf8').replace(/,$/, '')}]`)
  if (!Array.isArray(parsed)) return []
  return parsed.flatMap((input: unknown) => {
    try {
      const record = parseStoredRecord(input)
      return record !== undefined && isPlausible(record.id) ? record : []
    } catch (error) {
      // With a checksum that holds, `isSound` throws it; else it is a damaged member.
      if (error instanceof NewerFormError) return []
      throw error
    }
  })
}

/** Records stand by rising id, so one whose id does not rise is damaged. Of two, it is the one that the others rule out. */
function isInOrder({ id }: Configuration, i: number, records: readonly Configuration[]): boolean {
  const [before, last] = [records[i - 2]?.id ?? 0, records[i - 1]?.id ?? 0]
  const next = records[i + 1]?.id ?? Number.POSITIVE_INFINITY
  return (last <= id || before < id) && (id <= next || last >= next)
}

async function isSound(path: string, files: FileSystem): Promise<boolean> {
  const snapshot = await openSnapshot(path, files)
  try {
    await snapshot?.read(() => {})
    return true
  } catch (error) {
    if (error instanceof DamagedFileError && error.cause instanceof NewerFormError) throw error
    return false
  } finally {
    await snapshot?.close()
  }
}
