import { crc32 } from 'node:zlib'
import { DamagedFileError, ifPresent, inFile, NewerFormError } from '../errors.ts'
import { checkMembers, isNewerVersion, isObject, isVersion, parseJson } from '../json.ts'
import { writeAtomicFile } from './atomic-file.ts'
import type { FileSystem } from './file-system.ts'

/** A small JSON file with a checksum. */
export interface JsonDocument<Content> {
  /** Undefined when there is no file. @throws {DamagedFileError} */
  read(): Promise<Content | undefined>
  /** Replaces the file, durably. */
  write(content: Content): Promise<void>
}

/** The form of what a document holds. */
export interface DocumentForm<Content> {
  /** The member `format`: "connbook accounts". */
  readonly format: string
  /** Throws for content of the wrong form. */
  readonly parse: (input: unknown) => Content
  /** The version that is written, and the newest that is read. `parse` takes the content of each version up to it. */
  readonly version: number
}

/** @param advice For the operator, when the file is damaged. */
export function createJsonDocument<Content>(
  path: string,
  form: DocumentForm<Content>,
  advice: string,
  files: FileSystem,
): JsonDocument<Content> {
  return {
    async read() {
      // Reading a pipe would block a thread until somebody writes.
      if ((await ifPresent(files.lstat(path)))?.isFile() === false)
        throw new DamagedFileError(path, 0, 'it is not a plain file', advice)
      const bytes = await ifPresent(files.readFile(path))
      if (bytes === undefined) return undefined
      try {
        return decodeDocument(form, bytes.toString('utf8'))
      } catch (error) {
        throw inFile(path, 0, error, advice)
      }
    },
    async write(content) {
      await writeAtomicFile(path, `${JSON.stringify(seal(form, content), null, 2)}\n`, files)
    },
  }
}

/** @throws {SyntaxError} if the text is not what `encodeDocument` makes. Also what `parse` throws. */
export function decodeDocument<Content>(
  { format, parse, version: newest }: DocumentForm<Content>,
  text: string,
): Content {
  // These documents hold secrets, which the message of JSON.parse would quote.
  const envelope = parseJson(text)
  if (!isObject(envelope) || envelope.format !== format) throw new SyntaxError(`it is no "${format}" file`)
  const { format: _, version, checksum: sum, content, ...others } = envelope
  // It covers the content only: a version that damage made higher looks newer. Either way the text is refused.
  if (sum !== checksum(content)) throw new SyntaxError('checksum differs')
  if (isNewerVersion(version, newest)) throw new NewerFormError(`version ${version}`, newest)
  if (!isVersion(version)) throw new SyntaxError(`it is no "${format}" file`)
  checkMembers(others, [], 'the file')
  return parse(content)
}

/** The text of a document, on one line. @param version Another one than that of the form, for older readers. */
export function encodeDocument<Content>(
  form: DocumentForm<Content>,
  content: Content,
  version = form.version,
): string {
  return JSON.stringify(seal({ ...form, version }, content))
}

/** The version of a document that can be decoded. */
export function versionOfDocument(text: string): number {
  const envelope = parseJson(text)
  return isObject(envelope) ? Number(envelope.version) : Number.NaN
}

/** The envelope around the content of a file. */
export function seal<Content>({ format, version }: Omit<DocumentForm<Content>, 'parse'>, content: Content) {
  return { format, version, checksum: checksum(content), content }
}

/** Over the compact form, so that the file may be reformatted. */
function checksum(content: unknown): string {
  return crc32(JSON.stringify(content) ?? '')
    .toString(16)
    .padStart(8, '0')
}
