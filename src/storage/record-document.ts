import { crc32 } from 'node:zlib'
import { DamagedFileError, inFile, NewerFormError } from '../errors.ts'
import type { SequentialFile } from '../files/input.ts'
import { forEachLine } from '../files/lines.ts'
import { checkMembers, isNewerVersion, isObject, isVersion, parseJson } from '../json.ts'
import { parseStoredRecord } from '../store/change.ts'
import type { Configuration } from '../store/configuration.ts'
import type { ConfigurationIndex } from '../store/configuration-index.ts'

/** Records that a snapshot serializes before it lets others run, if their text is not longer than the next limit. */
export const SNAPSHOT_SLICE_RECORDS = 500
export const SNAPSHOT_SLICE_CHARACTERS = 512 * 1024

/** Between the records and the lines behind them, of which the last is `null`. */
const APPENDIX_START = '],"history":['
const CLOSING_BRACKET = 0x5d
const COMMA = 0x2c

const headerMembers = ['format', 'version', 'store', 'revision', 'lastId', 'count', 'records']

export interface StateHeader {
  readonly store: string
  /** Revision of the last change in the state. */
  readonly revision: number
  /** The highest id ever given. */
  readonly lastId: number
  readonly count: number
}

/** A kind of document with the state of a store: snapshot or backup. */
export interface DocumentKind {
  /** "connbook snapshot". */
  readonly format: string
  /** The version that is written, and the newest that is read. The versions before it only lack something. */
  readonly version: number
  /** Members of the header that only this kind has. */
  readonly members: readonly string[]
  /** For the operator, when the document is damaged. */
  readonly advice: string
}

export interface DocumentStart extends StateHeader {
  readonly members: Readonly<Record<string, unknown>>
  /** Bytes of the whole document. */
  readonly size: number
}

/**
 * Makes one JSON document of a state, one record per line, with a checksum at the end.
 *
 * @param records By rising id.
 * @param appendix More lines of JSON, behind the records.
 * @param sliceCharacters A piece is at most one line longer.
 * @returns Its pieces, of at most SNAPSHOT_SLICE_RECORDS each.
 */
export function* recordDocument(
  { format, version }: DocumentKind,
  { store, revision, lastId, count }: StateHeader,
  members: Readonly<Record<string, unknown>>,
  records: Iterable<Configuration>,
  appendix?: Iterable<string>,
  sliceCharacters = SNAPSHOT_SLICE_CHARACTERS,
): Generator<string> {
  let crc = 0
  let slice = ''
  let lines = 0
  const isFull = () => lines >= SNAPSHOT_SLICE_RECORDS || slice.length >= sliceCharacters
  /** A piece in a variable would stay in memory until it is written and the generator goes on. */
  const take = () => {
    const taken = slice
    crc = crc32(taken, crc)
    slice = ''
    lines = 0
    return taken
  }
  const start = JSON.stringify({ format, version, store, revision, lastId, count, ...members })
  slice = `${start.slice(0, -1)},"records":[\n`
  yield take()
  let written = 0
  for (const record of records) {
    written += 1
    lines += 1
    slice += `${record.jsonOnce}${written === count ? '\n' : ',\n'}`
    if (isFull()) yield take()
  }
  if (appendix !== undefined) {
    slice += APPENDIX_START
    for (const line of appendix) {
      lines += 1
      slice += `\n${line},`
      if (isFull()) yield take()
    }
    slice += '\nnull\n'
  }
  if (slice !== '') yield take()
  yield `],"checksum":"${hex(crc)}"}\n`
}

/** Writes a `recordDocument`. @param write Resolves when more may be written; others run meanwhile. */
export async function writeRecordDocument(
  kind: DocumentKind,
  header: StateHeader,
  members: Readonly<Record<string, unknown>>,
  records: Iterable<Configuration>,
  write: (text: string) => Promise<void>,
  appendix?: Iterable<string>,
): Promise<void> {
  for (const piece of recordDocument(kind, header, members, records, appendix)) await write(piece)
}

/**
 * Visits each record, by rising id, with the bytes of its JSON. The records are verified only once this has resolved.
 *
 * @param visitMore Gets each line behind the records; there must be none if it is absent.
 *
 * @throws {DamagedFileError} with the offset of the damage.
 */
export async function readRecordDocument(
  { format, version: newest, members: ownMembers, advice }: DocumentKind,
  path: string,
  file: Pick<SequentialFile, 'read' | 'stat'>,
  visit: (record: Configuration, jsonBytes: number) => void,
  visitMore?: (line: unknown) => void,
): Promise<DocumentStart> {
  const damage = (offset: number, reason: string) => new DamagedFileError(path, offset, reason, advice)
  const found: { start?: Omit<DocumentStart, 'size'>; isClosed: boolean; newer?: Error } = { isClosed: false }
  let crc = 0
  let lastId = 0
  let records = 0
  let isBehind = false

  await forEachLine(file, (line, offset, isWhole) => {
    if (!isWhole) throw damage(offset, 'the file was cut')
    if (found.isClosed) throw damage(offset, 'something stands behind the end')
    try {
      if (offset === 0) {
        found.start = parseStart(line)
        checkMembers(found.start.members, [...headerMembers, ...ownMembers], 'the header')
      } else if (visitMore !== undefined && !isBehind && line.toString('latin1') === APPENDIX_START) {
        isBehind = true
      } else if (line[0] === CLOSING_BRACKET) {
        if (line.toString('latin1') !== `],"checksum":"${hex(crc)}"}`)
          throw damage(offset, 'the checksum differs')
        found.isClosed = true
      } else if (isBehind) visitMore?.(parseJson(line.toString('utf8', 0, jsonBytesOf(line))))
      else if (found.start !== undefined) {
        const record = parseStoredRecord(parseJson(line.toString('utf8', 0, jsonBytesOf(line))))
        if (record === undefined || record.id <= lastId) throw damage(offset, 'the line is no record')
        visit(record, jsonBytesOf(line))
        lastId = record.id
        records += 1
      }
    } catch (error) {
      if (!(error instanceof NewerFormError)) throw error
      // Damage can look like a newer format; the checksum at the end decides.
      found.newer ??= inFile(path, offset, error, advice)
    }
    crc = crc32('\n', crc32(line, crc))
  })
  const { size } = await file.stat()
  if (size === 0) throw damage(0, 'the file is empty')
  if (!found.isClosed) throw damage(size, 'the file was cut')
  if (found.newer !== undefined) throw found.newer
  const { start } = found
  if (start?.count !== records || start.lastId < lastId) throw damage(0, 'the header does not fit')
  return { ...start, size }

  function parseStart(line: Buffer): Omit<DocumentStart, 'size'> {
    const members = parseJson(`${line.toString('utf8')}]}`)
    if (!isObject(members) || members.format !== format)
      throw damage(0, `the first line is not a ${format} header`)
    if (isNewerVersion(members.version, newest))
      throw new NewerFormError(`${format} version ${members.version}`, newest)
    const { store, revision, lastId, count, version } = members
    if (!isVersion(version)) throw damage(0, `the first line is not a ${format} header`)
    if (typeof store !== 'string' || !isCount(revision) || !isCount(lastId) || !isCount(count))
      throw damage(0, 'the header is not complete')
    return { store, revision, lastId, count, members }
  }
}

/** Loads a document into an index. @throws {DamagedFileError} also when two records have the same name. */
export async function loadRecordDocument(
  kind: DocumentKind,
  path: string,
  file: Pick<SequentialFile, 'read' | 'stat'>,
  index: ConfigurationIndex,
  visitMore?: (line: unknown) => void,
): Promise<DocumentStart> {
  const records: Configuration[] = []
  let jsonBytes = 0
  const take = (record: Configuration, bytes: number) => {
    records.push(record)
    jsonBytes += bytes
  }
  const start = await readRecordDocument(kind, path, file, take, visitMore)
  try {
    index.load(records, jsonBytes, start.revision, start.lastId)
    return start
  } catch (error) {
    throw inFile(path, 0, error, kind.advice)
  }
}

/** Without the comma after the record. */
function jsonBytesOf(line: Buffer): number {
  return line.at(-1) === COMMA ? line.length - 1 : line.length
}

function isCount(input: unknown): input is number {
  return Number.isSafeInteger(input) && (input as number) >= 0
}

function hex(crc: number): string {
  return crc.toString(16).padStart(8, '0')
}
