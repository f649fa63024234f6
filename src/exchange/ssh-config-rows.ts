import { type ImportOptions, noImportOptions } from './import-options.ts'
import { LineSplitter } from './import-text.ts'
import { faultyRow, type ImportWarning, type Row, type RowReader } from './row.ts'
import { type LocatedFault, SshConfiguration } from './ssh-configuration.ts'
import { resolveHostsInSlices } from './ssh-resolved.ts'

/** Estimated memory of a line or a word that is kept. */
const WORD_BYTES = 100
const WARNINGS_MAX = 100

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
  /** What the caller wants left out. */
  readonly #skipped: ImportWarning[] = []

  constructor(options: ImportOptions) {
    this.#options = options
  }

  get bytes(): number {
    return this.#configuration.words * WORD_BYTES
  }

  get warnings(): readonly ImportWarning[] {
    const left = this.#configuration.warnings.map(({ file: _, ...warning }) => warning)
    return [...this.#skipped, ...left]
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
    const defaults = { username, remedy: spell('user', 'NAME') }
    const hosts = yield* resolveHostsInSlices(configuration, defaults, (fault) => this.#addFault(fault))
    yield* this.#rows
    // Without a record, --mode replace would remove every record.
    if (configuration.hosts.size === 0) yield faultyRow(1, 'has no Host with a plain name', 'document')
    else if (isSkipping && hosts.length === 0)
      yield faultyRow(1, 'has no host left without what is left out', 'document')
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

  #addFault({ location: { line }, name, field, detail }: LocatedFault) {
    const named = name === undefined ? {} : { name }
    if (!this.#options.isSkipping) this.#rows.push({ line, fault: { field, detail, ...named } })
    else if (this.#skipped.length < WARNINGS_MAX)
      this.#skipped.push({ line, ...named, detail: `left out: ${field} ${detail}` })
  }
}
