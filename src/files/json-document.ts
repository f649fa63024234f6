import { crc32 } from 'node:zlib'
import { DamagedFileError, ifPresent, inFile, NewerFormError } from '../errors.ts'
import { checkMembers, isObject, parseJson } from '../json.ts'
import { writeAtomicFile } from './atomic-file.ts'
import type { FileSystem } from './file-system.ts'

/** A small JSON file of one kind, with a checksum over its content. */
export interface JsonDocument<Content> {
  /** Undefined when there is no file. Throws DamagedFileError when it is not what was written. */
  read(): Promise<Content | undefined>
  /** Replaces the whole file, durably. */
  write(content: Content): Promise<void>
}

const VERSION = 1

/**
 * @param format What the file is, as it says itself: "connbook accounts".
 * @param parse Turns unknown content into the type, or throws.
 * @param advice What an operator can do when the file is damaged.
 */
export function createJsonDocument<Content>(
  path: string,
  format: string,
  parse: (input: unknown) => Content,
  advice: string,
  files: FileSystem,
): JsonDocument<Content> {
  return {
    async read() {
      // Reading a pipe would wait for a writer, and hold a thread up meanwhile.
      if ((await ifPresent(files.lstat(path)))?.isFile() === false)
        throw new DamagedFileError(path, 0, 'it is not a plain file', advice)
      const bytes = await ifPresent(files.readFile(path))
      if (bytes === undefined) return undefined
      try {
        return parse(openEnvelope(bytes.toString('utf8')))
      } catch (error) {
        throw inFile(path, 0, error, advice)
      }
    },
    async write(content) {
      await writeAtomicFile(path, `${JSON.stringify(seal(format, content), null, 2)}\n`, files)
    },
  }

  function openEnvelope(text: string): unknown {
    // The parser's own message would quote the text, and these files hold secrets.
    const envelope = parseJson(text)
    if (!isObject(envelope) || envelope.format !== format) throw new SyntaxError(`it is no "${format}" file`)
    const { format: _, version, checksum: sum, content, ...others } = envelope
    if (version !== VERSION) throw new NewerFormError(`version ${version}`, VERSION)
    if (sum !== checksum(content)) throw new SyntaxError('checksum differs')
    checkMembers(others, [], 'the file')
    return content
  }
}

/** What a file of a format holds around its content. */
export function seal<Content>(format: string, content: Content) {
  return { format, version: VERSION, checksum: checksum(content), content }
}

/** Over the compact form, so that a file may be looked at and indented by any tool. */
function checksum(content: unknown): string {
  return crc32(JSON.stringify(content) ?? '')
    .toString(16)
    .padStart(8, '0')
}
