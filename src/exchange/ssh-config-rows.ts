import { type ImportOptions, noImportOptions } from './import-options.ts'
import { LineSplitter } from './import-text.ts'
import { faultyRow, type ImportWarning, type Row, type RowReader } from './row.ts'
import { type LocatedFault, SshConfiguration } from './ssh-configuration.ts'
import { changesWay } from './ssh-keywords.ts'
import { resolveHostsInSlices } from './ssh-resolved.ts'

/** Estimated memory of a line or a word that is kept. */
const WORD_BYTES = 100

/**
 * Reads ssh_config(5) as ssh does, one record for each literal name of a `Host` line; patterns and `Match` fill in.
 * `Include` is a fault: the files are not where the reader is.
 */
export function createSshConfigReader(options: ImportOptions = noImportOptions): RowReader {
  return new SshConfigReader(options)
}

class SshConfigReader implements RowReader {
  readonly #options: ImportOptions
  readonly #lines = new LineSplitter()
  readonly #configuration = new SshConfiguration((fault) => this.#addFault(fault))
  readonly #open = this.#configuration.openFile()
  #rows: Row[] = []

  constructor(options: ImportOptions) {
    this.#options = options
  }

  get bytes(): number {
    return this.#configuration.words * WORD_BYTES
  }

  get warnings(): readonly ImportWarning[] {
    return this.#configuration.warnings.map(({ file: _, ...warning }) => warning)
  }

  /** @throws {InvalidInputError} if it is too long. */
  read(piece: string): Row[] {
    for (const line of this.#lines.read(piece)) this.#takeLine(line)
    return this.#rows.splice(0)
  }

  /** Throws as `read` and `resolveHosts` do. */
  *end(): Generator<Row | undefined> {
    this.#takeLine(this.#lines.end())
    const { user: username, isSkipping, spell } = this.#options
    const configuration = this.#configuration
    const defaults = { username, isSkipping, remedy: spell('user', 'NAME') }
    const hosts = yield* resolveHostsInSlices(configuration, defaults, (fault) => this.#addFault(fault))
    yield* this.#rows
    // Without a record, --mode replace would remove every record.
    if (configuration.hosts.size === 0) yield faultyRow(1, 'has no Host with a plain name', 'document')
    for (const { draft, location } of hosts) {
      const { labelsPatch = {}, ...fields } = draft
      yield { line: location.line, fields, labelsPatch }
    }
  }

  #takeLine(line: string) {
    const include = this.#configuration.takeLine(this.#open, line)
    if (include === undefined) return
    const detail = 'cannot be followed: only the command reads other files'
    this.#addFault({ location: include.location, field: 'Include', detail })
  }

  #addFault({ location: { line }, field, ...fault }: LocatedFault) {
    this.#rows.push({ line, fault: { ...fault, field, isShared: true, isWay: changesWay(field) } })
  }
}
