import { crc32 } from 'node:zlib'
import { DamagedFileError, systemCode } from '../errors.ts'
import { openAtomicFile } from '../files/atomic-file.ts'
import type { FileSystem, OpenFile } from '../files/file-system.ts'
import { forEachLine } from '../files/lines.ts'
import { isObject, parseJson } from '../json.ts'
import { SNAPSHOT_SLICE_RECORDS } from '../limits.ts'
import { parseStoredRecord } from './change.ts'
import type { Configuration } from './configuration.ts'

/** What a snapshot says of the state that it holds. */
export interface SnapshotHeader {
  /** Id of the store. */
  readonly store: string
  /** The last change that the snapshot covers. */
  readonly revision: number
  /** The highest id ever given. */
  readonly lastId: number
}

const FORMAT = 'connbook snapshot'
const VERSION = 1
const ADVICE = 'restore the data folder from a backup'

/**
 * Writes the whole state as one JSON document, a record a line, durably, in the place of the last one.
 *
 * Lets others run between slices of records; the records are those given, whatever happens meanwhile.
 *
 * @param records By rising id.
 * @returns The size of the file in bytes.
 */
export async function writeSnapshot(
  path: string,
  header: SnapshotHeader,
  records: readonly Configuration[],
  files: FileSystem,
): Promise<number> {
  const file = await openAtomicFile(path, files)
  let crc = 0
  const write = async (text: string) => {
    crc = crc32(text, crc)
    await file.write(text)
  }
  try {
    const { store, revision, lastId } = header
    const start = JSON.stringify({
      format: FORMAT,
      version: VERSION,
      store,
      revision,
      lastId,
      count: records.length,
    })
    await write(`${start.slice(0, -1)},"records":[\n`)
    for (let first = 0; first < records.length; first += SNAPSHOT_SLICE_RECORDS) {
      const slice = records
        .slice(first, first + SNAPSHOT_SLICE_RECORDS)
        .map((record) => JSON.stringify(record))
      const isLast = first + SNAPSHOT_SLICE_RECORDS >= records.length
      await write(slice.join(',\n') + (isLast ? '\n' : ',\n'))
    }
    await file.write(`],"checksum":"${hex(crc)}"}\n`)
    await file.commit()
    return file.size
  } finally {
    await file.abort()
  }
}

/**
 * Reads a snapshot and hands over each record, by rising id.
 *
 * What was handed over is only to be trusted once this has returned.
 *
 * @returns undefined when there is no such file.
 * @throws {DamagedFileError} when the file is not what was written, naming the offset.
 */
export async function readSnapshot(
  path: string,
  visit: (record: Configuration, jsonBytes: number) => void,
  files: FileSystem,
): Promise<(SnapshotHeader & { readonly size: number }) | undefined> {
  let file: OpenFile
  try {
    file = await files.open(path, 'r')
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined
    throw error
  }
  try {
    return await parseSnapshot(path, file, visit)
  } finally {
    await file.close()
  }
}

async function parseSnapshot(
  path: string,
  file: OpenFile,
  visit: (record: Configuration, jsonBytes: number) => void,
) {
  const damage = (offset: number, reason: string, advice = ADVICE) => {
    return new DamagedFileError(path, offset, reason, advice)
  }
  const found: { header?: SnapshotHeader & { count: number }; isClosed: boolean } = { isClosed: false }
  let crc = 0
  let lastId = 0
  let records = 0

  await forEachLine(file, (line, offset, isWhole) => {
    if (!isWhole) throw damage(offset, 'the file was cut')
    if (found.isClosed) throw damage(offset, 'something stands behind the end')
    if (found.header === undefined) {
      found.header = parseSnapshotHeader(line, (reason, advice) => damage(0, reason, advice))
    } else if (line[0] === 0x5d) {
      if (line.toString('latin1') !== `],"checksum":"${hex(crc)}"}`)
        throw damage(offset, 'the checksum differs')
      found.isClosed = true
    } else {
      const record = parseRecordLine(line)
      if (record === undefined || record.id <= lastId) throw damage(offset, 'the line is no record')
      visit(record, line.length - (line.at(-1) === 0x2c ? 1 : 0))
      lastId = record.id
      records += 1
    }
    crc = crc32('\n', crc32(line, crc))
  })
  const { size } = await file.stat()
  if (found.header === undefined) throw damage(0, 'the file is empty')
  if (!found.isClosed) throw damage(size, 'the file was cut')
  if (found.header.count !== records || found.header.lastId < lastId)
    throw damage(0, 'the header does not fit')
  return { ...found.header, size }
}

function parseSnapshotHeader(line: Buffer, damage: (reason: string, advice?: string) => Error) {
  const header = parseJson(`${line.toString('utf8')}]}`)
  if (!isObject(header) || header.format !== FORMAT) throw damage('the first line is no snapshot header')
  if (header.version !== VERSION) {
    const reason = `snapshot version ${header.version} is unknown to this program, which reads ${VERSION},`
    throw damage(reason, 'start the connbook that wrote it, or a newer one')
  }
  const { store, revision, lastId, count } = header
  if (typeof store !== 'string' || !isCount(revision) || !isCount(lastId) || !isCount(count)) {
    throw damage('the header is not complete')
  }
  return { store, revision, lastId, count }
}

function parseRecordLine(line: Buffer): Configuration | undefined {
  const text = line.toString('utf8', 0, line.at(-1) === 0x2c ? line.length - 1 : line.length)
  return parseStoredRecord(parseJson(text))
}

function isCount(input: unknown): input is number {
  return Number.isSafeInteger(input) && (input as number) >= 0
}

function hex(crc: number): string {
  return crc.toString(16).padStart(8, '0')
}
