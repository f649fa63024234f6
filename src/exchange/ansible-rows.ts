import { IMPORT_ROW_CHARACTERS_MAX, IMPORT_ROWS_MAX } from '../limits.ts'
import { allOf, counted } from '../text.ts'
import { AnsibleGroups, type Group } from './ansible-groups.ts'
import { AnsibleHost, type AnsibleValue } from './ansible-host.ts'
import { type ImportOptions, noImportOptions } from './import-options.ts'
import { type JsonParts, type JsonScalar, JsonWalker } from './json-walker.ts'
import { faultyRow, type ImportWarning, type Row, type RowReader } from './row.ts'

const ADVICE = 'it must be what "ansible-inventory -i FILE --list" prints'
const AN_OBJECT = 'an object'
const A_LIST = 'an array of names'
const GROUPS_MAX = 50_000
/** Estimated memory of what is kept until the end. */
const HOST_BYTES = 700
const VARIABLE_BYTES = 150
const REFERENCE_BYTES = 40
/** Names of variables that are counted one by one. */
const VARIABLES_COUNTED_MAX = 1_000
const LISTED_MAX = 20
const NAME_CHARACTERS_MAX = 255

/**
 * Reads the JSON that `ansible-inventory --list` prints: a record a host.
 *
 * It gives the rows once all has been read, since a group may be anywhere.
 */
export function createAnsibleReader(options: ImportOptions = noImportOptions): RowReader {
  return new AnsibleReader(options)
}

interface KnownHost {
  readonly host: AnsibleHost
  readonly groups: Set<Group>
}

class AnsibleReader implements RowReader, JsonParts {
  readonly #options: ImportOptions
  readonly #walker = new JsonWalker(this)
  readonly #hosts = new Map<string, KnownHost>()
  readonly #groups = new AnsibleGroups()
  readonly #leftOut = new Map<string, number>()
  #leftOutMore = 0
  readonly #badGroups = new Set<string>()
  /** The members that lead to what is being read, from the outermost on; undefined for an array. */
  readonly #path: (string | undefined)[] = []
  #order = 0
  #hasBegun = false
  bytes = 0
  #variable: AnsibleValue | undefined

  constructor(options: ImportOptions) {
    this.#options = options
  }

  get warnings(): readonly ImportWarning[] {
    const counts = [...this.#leftOut]
    const rest = counts.slice(LISTED_MAX).reduce((sum, [, count]) => sum + count, this.#leftOutMore)
    const listed = counts.slice(0, LISTED_MAX).map(([name, count]) => `${name} of ${counted(count, 'host')}`)
    const variables = [...listed, ...(rest > 0 ? [`${rest} more`] : [])]
    const groups = [...this.#badGroups].map((name) => JSON.stringify(name))
    return [
      ...(variables.length === 0 ? [] : [{ detail: `variables were left out: ${allOf(variables)}` }]),
      ...(groups.length === 0
        ? []
        : [{ detail: `groups were left out, which the label group cannot name: ${allOf(groups)}` }]),
    ]
  }

  read(piece: string): Row[] {
    this.#walker.read(piece)
    return []
  }

  *end(): Generator<Row | undefined> {
    this.#walker.end()
    const { fault } = this.#walker
    if (fault !== undefined && !this.#hasBegun)
      return yield faultyRow(1, `is not JSON; ${ADVICE}`, 'document')
    if (fault !== undefined) return yield faultyRow(fault.line, fault.detail, 'document')
    const groupsFault = yield* this.#groups.resolve()
    if (groupsFault !== undefined) return yield faultyRow(undefined, groupsFault, 'document')
    // An empty inventory is a fault, because with --mode replace it would remove every record.
    if (this.#hosts.size === 0) return yield faultyRow(undefined, 'has no host', 'document')
    const given = new Map(this.#options.defaults).get('username')
    const leaveOut = (variable: string) => this.#leaveOut(variable)
    for (const [name, { host, groups }] of this.#hosts) {
      const row = host.rowOf(name, given, this.#expressed(this.#groups.namesOf(groups)), leaveOut)
      const { username } = row.fields
      if (username === undefined && row.faults.every(({ field }) => field !== 'username'))
        row.faults.push(this.#noUser())
      yield row
    }
  }

  open(kind: '{' | '['): void {
    const { length: depth } = this.#path
    const [top, part, host] = this.#path
    this.#hasBegun = true
    if (depth === 0 && kind === '[') this.#walker.stop(`is an array; ${ADVICE}`)
    if (this.#isVariable()) this.#variable = { kind: 'list', text: undefined }
    else if (depth === 1 && kind === '[') this.#stopAt(top, AN_OBJECT)
    else if (isList(top, part)) {
      if (depth >= 3 || (depth === 2 && kind === '{')) this.#stopAt(part, A_LIST)
    } else if (areHosts(top, part) && depth <= 3 && kind === '[')
      this.#stopAt(depth === 2 ? part : host, AN_OBJECT)
    this.#path.push(undefined)
  }

  close(): void {
    this.#path.pop()
    if (!this.#isVariable() || this.#variable === undefined) return
    this.#takeVariable(this.#variable)
    this.#variable = undefined
  }

  key(found: string | undefined): void {
    const name = found ?? ''
    this.#path[this.#path.length - 1] = name
    const [top = '', part] = this.#path
    const { length: depth } = this.#path
    if (found === undefined && (depth === 1 || (depth === 3 && areHosts(top, part))))
      this.#walker.stop(`has a name of more than ${IMPORT_ROW_CHARACTERS_MAX} characters`)
    else if (depth === 1 && top !== '_meta') this.#beginGroup(top)
    else if (depth === 3 && areHosts(top, part)) this.#hostNamed(name)
    else if (depth === 3 && top !== '_meta' && part === 'vars')
      this.#walker.stop(
        `has variables of the group ${JSON.stringify(top)}; print it without --export, so that each host has them`,
      )
  }

  value(scalar: JsonScalar): void {
    const { length: depth } = this.#path
    const [top = '', part, host] = this.#path
    // A bare JSON text, number or word cannot be an inventory.
    if (depth === 0) this.#walker.stop('')
    else if (this.#isVariable()) this.#takeVariable(scalar)
    // What Ansible does not evaluate, or what is encrypted, is an object with one member.
    else if (depth === 5 && this.#variable !== undefined) {
      const [, , , , mark] = this.#path
      if (mark === '__ansible_unsafe' && scalar.kind === 'text')
        this.#variable = { kind: 'literal', text: scalar.text }
      else if (mark === '__ansible_vault') this.#variable = { kind: 'vault', text: undefined }
    } else if (depth === 3 && isList(top, part)) this.#takeMember(top, part, scalar)
    else if (depth === 1) this.#stopAt(top, AN_OBJECT)
    else if (depth === 2 && isList(top, part)) this.#stopAt(part, A_LIST)
    else if (depth <= 3 && areHosts(top, part)) this.#stopAt(depth === 2 ? part : host, AN_OBJECT)
  }

  /** Whether the next value is that of a variable of a host. */
  #isVariable(): boolean {
    const [top, part] = this.#path
    return this.#path.length === 4 && areHosts(top, part)
  }

  #takeVariable(value: AnsibleValue) {
    const [, , host = '', variable = ''] = this.#path
    const hasLabels = this.#options.extra === 'labels'
    this.bytes += VARIABLE_BYTES + 2 * (value.text?.length ?? 0)
    this.#hostNamed(host).host.take(variable, value, hasLabels, (name) => this.#leaveOut(name))
  }

  #takeMember(group: string, part: string | undefined, { kind, text }: JsonScalar) {
    if (kind !== 'text' || text === undefined) return this.#stopAt(part, A_LIST)
    const holder = this.#groups.getNamed(group)
    this.bytes += REFERENCE_BYTES
    if (part === 'children') {
      holder.children.add(this.#groups.getNamed(text))
      this.#checkGroups()
    } else this.#hostNamed(text).groups.add(holder)
  }

  #beginGroup(name: string) {
    const group = this.#groups.getNamed(name)
    this.#order += 1
    group.order = Math.min(group.order, this.#order)
    this.#checkGroups()
  }

  #checkGroups() {
    this.bytes += REFERENCE_BYTES
    if (this.#groups.size > GROUPS_MAX) this.#walker.stop(`has more than ${GROUPS_MAX} groups`)
  }

  #hostNamed(name: string): KnownHost {
    const known = this.#hosts.get(name)
    if (known !== undefined) return known
    const host = { host: new AnsibleHost(), groups: new Set<Group>() }
    this.#hosts.set(name, host)
    this.bytes += HOST_BYTES + 2 * name.length
    if (this.#hosts.size > IMPORT_ROWS_MAX)
      this.#walker.stop(`has more than ${IMPORT_ROWS_MAX} hosts; make it several files`)
    return host
  }

  #stopAt(member: string | undefined, expected: string) {
    const name = JSON.stringify((member ?? '').slice(0, NAME_CHARACTERS_MAX))
    this.#walker.stop(`has ${name}, which must be ${expected}; ${ADVICE}`)
  }

  #leaveOut(variable: string) {
    const name = variable.slice(0, NAME_CHARACTERS_MAX)
    const count = this.#leftOut.get(name)
    if (count === undefined && this.#leftOut.size >= VARIABLES_COUNTED_MAX) this.#leftOutMore += 1
    else this.#leftOut.set(name, (count ?? 0) + 1)
  }

  /** Without the groups that a label with commas cannot name. */
  #expressed(groups: readonly string[]): string[] {
    return groups.filter((name) => {
      const isGood = name !== '' && !name.includes(',') && name.trim() === name
      if (!isGood && this.#badGroups.size < LISTED_MAX)
        this.#badGroups.add(name.slice(0, NAME_CHARACTERS_MAX))
      return isGood
    })
  }

  #noUser() {
    const detail = `is missing; give ${this.#options.spell('default', 'username', 'NAME')}`
    return { field: 'username', detail, isShared: true }
  }
}

function isList(top: string | undefined, part: string | undefined): boolean {
  return top !== '_meta' && (part === 'hosts' || part === 'children')
}

function areHosts(top: string | undefined, part: string | undefined): boolean {
  return top === '_meta' && part === 'hostvars'
}
