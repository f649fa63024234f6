import { isIP } from 'node:net'
import type { LabelsPatch } from '../store/labels.ts'
import { eitherOf } from '../text.ts'
import { type ImportOptions, noImportOptions } from './import-options.ts'
import { LineSplitter } from './import-text.ts'
import { LeftOutLines } from './left-out.ts'
import { LINE_BYTES_MAX, sslModes } from './pg-service-format.ts'
import { faultyRow, type ImportWarning, namedBy, type Row, type RowFault, type RowReader } from './row.ts'

const DEFAULT_PORT = 5432
const settings = ['host', 'hostaddr', 'port', 'user', 'dbname', 'sslmode'] as const
type Setting = (typeof settings)[number]
const LOST_NAME = 'host was left out: libpq connects to hostaddr, and host is only a name to it'
/** Without the name, a connection would be refused, or trusted for another reason. */
const NAME_NEEDED =
  'is verify-full, which checks host in the certificate; a record has no host beside hostaddr: remove one of them'
const BEFORE_SECTIONS = 'what stands before the first [name] was left out, as libpq does'

interface Value {
  readonly text: string
  readonly line: number
}

interface Section {
  readonly line: number
  readonly name: string
  readonly values: Map<Setting, Value>
  /** Whether a line of it cannot be read: what that says may be what makes a connection safe. */
  isFaulty: boolean
}

/**
 * Reads a connection service file of libpq, one record a section.
 *
 * It is read as libpq reads it: white space around a line is dropped, `#` begins a comment only at the start of a line,
 * everything behind `=` is the value, and the first section of a name and the first value of a setting count.
 *
 * @see https://www.postgresql.org/docs/current/libpq-pgservice.html
 */
export function createPgServiceReader(options: ImportOptions = noImportOptions): RowReader {
  return new PgServiceReader(options)
}

class PgServiceReader implements RowReader {
  readonly #options: ImportOptions
  readonly #lines = new LineSplitter()
  readonly #leftOut = new LeftOutLines()
  readonly #names = new Set<string>()
  #line = 0
  /** `none` before the first, `passed` in one that libpq does not reach. */
  #section: Section | 'none' | 'passed' = 'none'

  constructor(options: ImportOptions) {
    this.#options = options
  }

  get warnings(): readonly ImportWarning[] {
    return this.#leftOut.warnings((kind) => kind === LOST_NAME)
  }

  read(piece: string): Row[] {
    return this.#lines.read(piece).flatMap((line) => this.#takeLine(line))
  }

  end(): Row[] {
    const rows = this.#takeLine(this.#lines.end())
    // An empty file is a fault, because with --mode replace it would remove every record.
    if (this.#section === 'none') rows.push(faultyRow(1, 'has no [name] of a service', 'document'))
    return [...rows, ...this.#endSection()]
  }

  #takeLine(text: string): Row[] {
    this.#line += 1
    if (Buffer.byteLength(text) >= LINE_BYTES_MAX)
      return this.#fault(`is longer than ${LINE_BYTES_MAX - 1} bytes, and libpq then refuses the whole file`)
    const bare = text.replace(/^[ \t\v\f\r]+|[ \t\v\f\r]+$/g, '')
    if (bare === '' || bare.startsWith('#')) return []
    if (bare.startsWith('[')) return [...this.#endSection(), ...this.#beginSection(bare)]
    if (this.#section === 'none') this.#leftOut.add(BEFORE_SECTIONS, this.#line)
    else if (this.#section !== 'passed') return this.#takeSetting(bare, this.#section)
    return []
  }

  #beginSection(text: string): Row[] {
    const [, name] = /^\[([^\]]*)\]/.exec(text) ?? []
    this.#section = 'passed'
    if (name === undefined) return this.#fault('has no "]" behind the name of the service')
    if (this.#names.has(name))
      this.#leftOut.add(`a section was left out whose name an earlier one has: libpq reads that`, this.#line)
    else {
      this.#names.add(name)
      this.#section = { line: this.#line, name, values: new Map(), isFaulty: false }
    }
    return []
  }

  #takeSetting(text: string, { values }: Section): Row[] {
    if (text.startsWith('ldap'))
      return this.#fault('has libpq look up the service in LDAP; write its settings here instead')
    const equals = text.indexOf('=')
    const key = text.slice(0, equals)
    if (equals === -1 || !/^[a-z][a-z_]*$/.test(key))
      return this.#fault('is not NAME=VALUE, without a space before the "=", as libpq demands it')
    if (key === 'service') return this.#fault('names another service, which libpq refuses', key)
    const known = settings.find((setting) => setting === key)
    if (known === undefined) this.#leftOut.add(leftOutText(key), this.#line)
    else if (values.has(known))
      this.#leftOut.add(`a second ${key} of a service was left out, as libpq does`, this.#line)
    else values.set(known, { text: text.slice(equals + 1), line: this.#line })
    return []
  }

  #endSection(): Row[] {
    const section = this.#section
    this.#section = 'passed'
    if (typeof section === 'string') return []
    if (hasOtherName(section)) this.#leftOut.add(LOST_NAME, section.values.get('host')?.line ?? section.line)
    return [rowOf(section, this.#options)]
  }

  #fault(detail: string, field?: string): Row[] {
    const row = faultyRow(this.#line, detail, field)
    if (typeof this.#section === 'string') return [row]
    this.#section.isFaulty = true
    return [{ ...row, fault: { ...row.fault, isShared: true, ...namedBy(this.#section) } }]
  }
}

function leftOutText(key: string): string {
  return /pass/.test(key) ? `${key} was left out: its name says a secret` : `${key} was left out`
}

/** To libpq, an empty value is as good as none. */
function textIn({ values }: Section, setting: Setting): string | undefined {
  return values.get(setting)?.text || undefined
}

/** Whether `host` says another name of the server than `hostaddr`, where libpq connects to. */
function hasOtherName(section: Section): boolean {
  const [host, address] = [textIn(section, 'host'), textIn(section, 'hostaddr')]
  return host !== undefined && address !== undefined && host !== address
}

function rowOf(section: Section, { defaults, spell }: ImportOptions): Row {
  const { line, name, values, isFaulty } = section
  const textOf = (setting: Setting) => textIn(section, setting)
  // What the file does not say stays as it is.
  const labelOf = (key: string, setting: Setting): LabelsPatch =>
    values.has(setting) ? { [key]: textOf(setting) ?? null } : {}
  const destination = textOf('hostaddr') === undefined ? 'host' : 'hostaddr'
  const hostname = textOf(destination)
  const mode = values.get('sslmode')
  const username = textOf('user') ?? new Map(defaults).get('username')
  const labelsPatch: LabelsPatch = {
    ...labelOf('pg.dbname', 'dbname'),
    ...labelOf('pg.sslmode', 'sslmode'),
  }
  const faults: RowFault[] = []
  const addFault = (field: string, detail: string, at: Setting) =>
    faults.push({ line: values.get(at)?.line ?? line, field, detail })
  const hostFault = destination === 'host' ? faultOfHost(hostname) : faultOfAddress(hostname)
  if (hostFault !== undefined) addFault('hostname', hostFault, destination)
  if (username === undefined)
    addFault(
      'username',
      `is missing; write user=NAME, or give ${spell('default', 'username', 'NAME')}`,
      'user',
    )
  if (mode !== undefined && !sslModes.has(mode.text))
    addFault('sslmode', `must be ${eitherOf([...sslModes])}`, 'sslmode')
  if (mode?.text === 'verify-full' && hasOtherName(section)) addFault('sslmode', NAME_NEEDED, 'sslmode')
  return {
    line,
    fields: { name, hostname, port: portOf(textOf('port')), username },
    labelsPatch,
    lines: linesOf(values, destination),
    faults,
    isFaulty,
  }
}

function faultOfHost(host: string | undefined): string | undefined {
  if (host === undefined) return 'is missing; write host=HOST'
  if (/^[/@]/.test(host)) return 'is the path of a socket; a record has a host name or an address'
  return host.includes(',') ? 'names several hosts; make it a service for each' : undefined
}

/** libpq looks up no name there. */
function faultOfAddress(address = ''): string | undefined {
  if (isIP(address) !== 0) return undefined
  return address.includes(',')
    ? 'has several addresses; make it a service for each'
    : 'must be an IP address in hostaddr; write a name as host'
}

/** As libpq reads a number; any other text stays text, which is then a fault. */
function portOf(text: string | undefined): unknown {
  if (text === undefined) return DEFAULT_PORT
  const [, digits] = /^\s*\+?0*(\d{1,9})$/.exec(text) ?? []
  return digits === undefined ? text : Number(digits)
}

/** By what the faults of fields and labels name. */
function linesOf(
  values: ReadonlyMap<Setting, Value>,
  destination: 'host' | 'hostaddr',
): Record<string, number> {
  const fields = {
    hostname: destination,
    port: 'port',
    username: 'user',
    'labels.pg.dbname': 'dbname',
    'labels.pg.sslmode': 'sslmode',
  } as const
  return Object.fromEntries(
    Object.entries(fields).flatMap(([field, setting]) => {
      const line = values.get(setting)?.line
      return line === undefined ? [] : [[field, line]]
    }),
  )
}
