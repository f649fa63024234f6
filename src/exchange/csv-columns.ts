import { LABEL_KEY_CHARACTERS_MAX, LABELS_MAX } from '../limits.ts'
import { fieldNames, recordFields } from '../store/fields.ts'
import { faultOfKey } from '../store/labels.ts'
import { allOf, counted } from '../text.ts'
import { isSecret, labelKeyOf, plainName } from './column-name.ts'
import { type ImportOptions, LEFT_OUT } from './import-options.ts'
import { parseLabelCell } from './label-cell.ts'
import { type FaultyRow, faultyRow, type ImportWarning, namedBy, type ReadColumn, type Row } from './row.ts'

/** A message lists no more names than this. */
const NAMES_LISTED_MAX = 20
const NAME_CHARACTERS_SHOWN_MAX = 100
const LABEL = 'label.'

/** Other names of the fields; `host` is one of the name, or of the hostname beside another name. */
const synonyms = {
  name: 'alias,label,title,connection,displayname,inventoryhostname',
  hostname: 'address,ip,ipaddress,fqdn,server,ansiblehost',
  port: 'sshport,ansibleport',
  username: 'user,login,account,ansibleuser',
}
const known: ReadonlyMap<string, string> = new Map([
  ...[...fieldNames, 'labels', 'id'].map((name) => [name, name] as const),
  ...Object.entries(synonyms).flatMap(([field, names]) =>
    names.split(',').map((name) => [name, field] as const),
  ),
])

const requiredFields = recordFields.flatMap(({ name, isRequired }) => (isRequired ? [name] : []))

/** How many columns of a header have names that are known, or that the caller maps. */
export function countKnown(header: readonly string[], { map }: ImportOptions): number {
  const mapped = new Set(map.map(([, column]) => plainName(column)))
  return header.map(plainName).filter((name) => known.has(name) || name === 'host' || mapped.has(name)).length
}

/** What becomes of each column of a CSV file. */
export class CsvColumns {
  readonly faults: FaultyRow[] = []
  readonly #warnings: ImportWarning[] = []
  /** Line breaks in cells of labels, and the first row that has one. */
  #breaks = 0
  #firstBroken = 1
  readonly #header: readonly string[]
  readonly #line: number
  readonly #options: ImportOptions
  readonly #positions: ReadonlyMap<string, readonly number[]>
  readonly #plainPositions: ReadonlyMap<string, readonly number[]>
  readonly #secrets: ReadonlySet<number>
  /** By position: a field, `labels`, `label.KEY`, null for left out, undefined while it is not known. */
  readonly #becomes: (string | null | undefined)[]
  readonly #only: readonly (readonly [at: number, values: ReadonlySet<string>])[]
  readonly #defaults: ReadonlyMap<string, string>
  /** Fields and labels to which the caller maps columns. */
  readonly #mapped: ReadonlySet<string>
  readonly #fields: readonly {
    readonly field: (typeof recordFields)[number]
    readonly at: number | undefined
  }[]
  /** Positions of columns that are left out for want of a name; none may have a value. */
  readonly #nameless: number[] = []
  /** Names of columns that are to be labels, and cannot. */
  readonly #keyless: string[] = []
  readonly #labelsAt: number
  readonly #labels: readonly (readonly [key: string, at: number])[]

  /** @param line Line number of the header. */
  constructor(header: readonly string[], line: number, options: ImportOptions) {
    this.#header = header
    this.#line = line
    this.#options = options
    this.#defaults = new Map(options.defaults)
    this.#mapped = new Set(options.map.map(([field]) => field))
    // There may be thousands of columns, and of parameters that name some.
    this.#positions = positionsOf(header)
    this.#plainPositions = positionsOf(header.map(plainName))
    this.#secrets = new Set(header.flatMap((name, at) => (isSecret(name) ? [at] : [])))
    this.#becomes = header.map((_, at) => (this.#secrets.has(at) ? null : undefined))
    this.#takeMapped()
    this.#only = this.#findOnly()
    if (
      header.every((name) => !known.has(plainName(name)) && plainName(name) !== 'host') &&
      options.map.length === 0
    )
      this.#refuse(
        `names ${listed(header)}, of which none is known; write it as: ${requiredFields.join(',')}`,
      )
    else this.#takeOthers()
    for (const at of this.#secrets)
      this.#warnings.push({
        line,
        detail: `column ${shown(header[at])} was left out: its name says a secret`,
      })
    const at = new Map(this.#becomes.map((becomes, i) => [becomes, i]))
    this.#fields = recordFields.flatMap((field) =>
      at.has(field.name) || this.#defaults.has(field.name) ? [{ field, at: at.get(field.name) }] : [],
    )
    this.#labelsAt = this.#becomes.indexOf('labels')
    this.#labels = this.#becomes.flatMap((becomes, i) =>
      becomes?.startsWith(LABEL) ? [[becomes.slice(LABEL.length), i] as const] : [],
    )
    // Each row would make as many, only to be refused.
    if (this.#labels.length > LABELS_MAX)
      this.#refuse(
        `has ${this.#labels.length} columns that become labels, and a record has at most ${LABELS_MAX}; leave some out with ${options.spell('map', LEFT_OUT, 'COLUMN')}`,
      )
  }

  get warnings(): readonly ImportWarning[] {
    if (this.#breaks === 0) return this.#warnings
    const detail = `${counted(this.#breaks, 'line break')} within labels became ${this.#breaks === 1 ? 'a blank' : 'blanks'}`
    return [...this.#warnings, { line: this.#firstBroken, detail }]
  }

  get columns(): readonly ReadColumn[] {
    return this.#header.map((column, at) => {
      const becomes = this.#becomes[at]
      return {
        column,
        ...(becomes === undefined ? {} : { becomes }),
        ...(this.#secrets.has(at) ? { secret: true } : {}),
      }
    })
  }

  /** The record of a row, its fault, or that the caller does not want it. */
  rowOf(line: number, values: readonly string[]): Row {
    for (const [at, wanted] of this.#only) {
      const value = values[at]
      if (value !== undefined && !wanted.has(value)) return { line, leftOut: 'unwanted' }
    }
    if (values.length !== this.#header.length)
      return faultyRow(
        line,
        `has ${counted(values.length, 'field')}, and the header has ${this.#header.length}`,
      )
    const lost = this.#nameless.find((at) => values[at] !== '')
    if (lost !== undefined)
      return faultyRow(
        line,
        `has a value in column ${lost + 1}, which has no name in the header; name it there, or add ${this.#options.spell('extra', 'ignore')} to leave it out`,
      )
    const fields: Record<string, unknown> = {}
    for (const { field, at } of this.#fields) {
      const text = (at === undefined ? '' : values[at]) || (this.#defaults.get(field.name) ?? '')
      fields[field.name] = text === '' && !field.isRequired ? null : field.parse(text)
    }
    if (this.#labelsAt === -1 && this.#labels.length === 0) return { line, fields }
    const patch: { [key: string]: string | null } = {}
    for (const [key, at] of this.#labels) patch[key] = this.#inOneLine(line, values[at] ?? '') || null
    if (this.#labelsAt === -1) return { line, fields, labelsPatch: patch }
    let detail: string | undefined
    const labels = parseLabelCell(this.#inOneLine(line, values[this.#labelsAt] ?? ''), (found) => {
      detail ??= found
    })
    if (detail !== undefined) return { line, fault: { field: 'labels', detail, ...namedBy(fields) } }
    const others = Object.entries(labels).filter(([key]) => !Object.hasOwn(patch, key))
    const set = [...others, ...Object.entries(patch)]
    fields.labels = Object.fromEntries(set.filter(([, value]) => value !== null))
    return { line, fields }
  }

  /** The text of a label, which has no line breaks. */
  #inOneLine(line: number, text: string): string {
    if (!/[\r\n]/.test(text)) return text
    if (this.#breaks === 0) this.#firstBroken = line
    return text.replace(/\r\n|[\r\n]/g, () => {
      this.#breaks += 1
      return ' '
    })
  }

  #takeMapped() {
    for (const [field, column] of this.#options.map) {
      const at = this.#find('map', column)
      if (at === undefined) continue
      const before = this.#becomes[at]
      if (this.#secrets.has(at)) {
        if (field === LEFT_OUT) continue
        this.#refuse(`names ${shown(column)}, whose name says a secret; such a column is never taken`, 'map')
      } else if (before !== undefined)
        this.#refuse(`names ${shown(column)} for ${before ?? 'nothing'} and ${field || 'nothing'}`, 'map')
      else this.#becomes[at] = field === LEFT_OUT ? null : field
    }
  }

  #findOnly() {
    const wanted = new Map<number, Set<string>>()
    for (const [column, value] of this.#options.only) {
      const at = this.#find('only', column)
      if (at !== undefined) wanted.set(at, (wanted.get(at) ?? new Set()).add(value))
    }
    return [...wanted]
  }

  /** The position of a column, by its own name or by one that differs in what does not matter. */
  #find(parameter: string, column: string): number | undefined {
    const found = this.#positions.get(column) ?? this.#plainPositions.get(plainName(column)) ?? []
    if (found.length === 1) return found[0]
    const why =
      found.length === 0 ? 'which is not a column; the header has' : 'which is more than one column of'
    this.#refuse(`names ${shown(column)}, ${why} ${listed(this.#header)}`, parameter)
    return undefined
  }

  /** Columns that are not mapped, by their names. */
  #takeOthers() {
    const mapped = new Set(this.#becomes)
    const names = this.#header.map(plainName)
    const free = (at: number) => this.#becomes[at] === undefined
    const hasName = mapped.has('name') || names.some((name, at) => free(at) && known.get(name) === 'name')
    const byField = new Map<string, number[]>()
    for (const [at, name] of names.entries()) {
      const field = name === 'host' ? (hasName ? 'hostname' : 'name') : known.get(name)
      if (!free(at) || field === undefined || mapped.has(field)) continue
      if (field === 'id') this.#becomes[at] = null
      else if (!byField.has(field)) byField.set(field, [at])
      else byField.get(field)?.push(at)
    }
    for (const [field, found] of byField) {
      for (const at of found) this.#becomes[at] = field
      if (found.length === 1) continue
      const columns = found.map((at) => this.#header[at])
      const remedy = this.#options.spell('map', field, columns[0])
      this.#refuse(`names ${listed(columns)} for ${field}; say which it is, such as ${remedy}`)
    }
    this.#takeUnknown()
    this.#checkMissing()
  }

  #takeUnknown() {
    const { extra, spell } = this.#options
    const asked = new Set(this.#only.map(([at]) => at))
    const unknown: string[] = []
    const labelled = new Map(this.#becomes.map((becomes, at) => [becomes, at]))
    for (const [at, name] of this.#header.entries()) {
      if (this.#becomes[at] !== undefined) continue
      if (name.trim() === '' && extra !== 'ignore' && !asked.has(at)) {
        this.#nameless.push(at)
        this.#becomes[at] = null
      } else if (extra === 'labels') this.#takeLabel(at, name, labelled)
      else if (extra === undefined && !asked.has(at)) unknown.push(name)
      else this.#becomes[at] = null
    }
    this.#refuseKeyless()
    if (unknown.length === 0) return
    const remedies = `${spell('extra', 'labels')} to keep each as a label, or ${spell('extra', 'ignore')} to leave them out`
    this.#refuse(
      `names ${listed(unknown)}, which ${unknown.length === 1 ? 'is not a field' : 'are not fields'}; add ${remedies}`,
    )
  }

  /** All columns whose names have no key of a label in them. */
  #refuseKeyless() {
    const [first] = this.#keyless
    if (first === undefined) return
    const remedy = this.#options.spell('map', `${LABEL}KEY`, first.slice(0, NAME_CHARACTERS_SHOWN_MAX))
    this.#refuse(
      `names ${listed(this.#keyless)}, which cannot be ${this.#keyless.length === 1 ? 'the key of a label' : 'keys of labels'}: such a key is 1 to ${LABEL_KEY_CHARACTERS_MAX} of a-z, 0-9, ".", "_", "/" and "-", the first a letter; say a key for each, such as ${remedy}`,
    )
  }

  /** @param labelled The positions of what columns become, for this one as well. */
  #takeLabel(at: number, column: string, labelled: Map<string | null | undefined, number>) {
    const key = labelKeyOf(column)
    if (faultOfKey(key) !== undefined) {
      this.#keyless.push(column)
      return
    }
    const other = labelled.get(LABEL + key)
    if (other === undefined) {
      labelled.set(LABEL + key, at)
      this.#becomes[at] = LABEL + key
    } else if (this.#mapped.has(LABEL + key)) this.#becomes[at] = null
    else this.#refuse(`names ${listed([this.#header[other], column])} for the label ${key}`)
  }

  #checkMissing() {
    const { spell } = this.#options
    const missing = requiredFields.filter(
      (name) => !this.#becomes.includes(name) && !this.#defaults.has(name),
    )
    const [first] = missing
    if (first === undefined) return
    const filled = missing.filter((name) => name !== 'name')
    const fill = filled.length === 0 ? '' : `, or fill in with ${spell('default', filled[0] ?? '', 'VALUE')}`
    this.#refuse(`does not name ${allOf(missing)}; say ${spell('map', first, 'COLUMN')}${fill}`)
  }

  #refuse(detail: string, field = 'header') {
    this.faults.push(faultyRow(this.#line, detail, field))
  }
}

/** Where each name is. */
function positionsOf(names: readonly string[]): ReadonlyMap<string, readonly number[]> {
  return Map.groupBy(names.keys(), (at) => names[at] ?? '')
}

function shown(name = ''): string {
  const isLong = name.length > NAME_CHARACTERS_SHOWN_MAX
  return JSON.stringify(isLong ? `${name.slice(0, NAME_CHARACTERS_SHOWN_MAX)}…` : name)
}

function listed(names: readonly (string | undefined)[]): string {
  const rest = names.length - NAMES_LISTED_MAX
  if (rest <= 0) return allOf(names.map(shown))
  return `${names.slice(0, NAMES_LISTED_MAX).map(shown).join(', ')} and ${rest} more`
}
