import { NOTED_NAME_BYTES, STREAM_PIECE_CHARACTERS } from '../limits.ts'
import { type LongWork, SliceClock } from '../scheduler.ts'
import type { Configuration } from '../store/configuration.ts'
import { GROUP_KEY, groupsIn, type Labels, labelOf, variableOfKey } from '../store/labels.ts'
import { ITEMS_A_STEP, inSteps } from '../store/slices.ts'
import { isOtherConnection } from './ansible-connections.ts'
import { controlPathOf } from './ansible-control-path.ts'
import type { ExportTail, RecordBook } from './export-format.ts'
import { type ExportNotes, PositionSet } from './export-notes.ts'
import { type FindRecord, hasHops, KEY_LABEL, writtenJump } from './hops.ts'
import { KIND_LABEL, kindOf } from './kinds.ts'
import { lookupAddress } from './lookup-address.ts'
import { faultOfKeyPath } from './ssh-key-path.ts'

/** Groups of a record in an export for Ansible; of a record with more, the rest are left out. */
export const ANSIBLE_GROUPS_MAX = 16

/** Memory of a name in a list of names; such a list grows by half. */
const REFERENCE_BYTES = 12
const LEFT_OUT_LISTED_MAX = 20
/** Ansible makes the first itself, for hosts without a group; the second has another meaning in its output. */
const UNGROUPED = 'ungrouped'
const impossible = new Set([UNGROUPED, '_meta'])

/** Ansible's words for the machine that it runs on (`C.LOCALHOST`), unless an inventory has a host or a group of that name. */
const ownMachine = new Set(['localhost', '127.0.0.1', '::1'])

/** As a host, Ansible confuses them with its own groups. Any other host may have the name of a group. */
const groupNames = new Set(['all', 'ungrouped'])

/** What Ansible takes for a name or an address with a port; two colons make no port, so IPv6 addresses are names. */
const LABEL = '[\\p{L}\\p{N}_][\\p{L}\\p{N}_-]*(?<![_-])'
const HOST_AND_PORT = new RegExp(`^${LABEL}(?:\\.${LABEL})*:\\d+$`, 'u')

/** What the variables of a host depend on, beside its record. */
export type InventoryBook = Pick<RecordBook, 'store' | 'find' | 'isShared'>

/** For records without labels, each with an address of its own. */
export const noBook: InventoryBook = { store: '', find: () => undefined, isShared: () => false }

/** Where Ansible connects to: by this, and the user, it would find a connection that is still open. */
export function addressOfHost({ hostname, port }: Configuration): string {
  return `${lookupAddress(hostname).toLowerCase()} ${port}`
}

/**
 * The variables of a host in an inventory.
 *
 * Ansible splits the arguments for ssh as a shell would, and passes the path of the key in quotation marks.
 */
export function hostVariables(
  record: Configuration,
  { store, find, isShared }: InventoryBook,
): readonly (readonly [variable: string, value: string | number])[] {
  const { hostname, port, username, labels } = record
  const variables: [string, string | number][] = [
    ['ansible_host', lookupAddress(hostname)],
    ['ansible_port', port],
    ['ansible_user', username],
  ]
  const kind = labels && kindOf(labels)
  if (kind !== undefined && isOtherConnection(kind)) variables.push(['ansible_connection', kind])
  const jump = writtenJump(record, find)
  if (typeof jump === 'object') variables.push(['ansible_ssh_common_args', `-J '${jump.word}'`])
  if (hasHops(record) || isShared(record)) {
    const way = typeof jump === 'object' ? jump.word : ''
    variables.push(['ansible_control_path', controlPathOf(record, store, way)])
  }
  if (labels === undefined) return variables
  const key = labelOf(labels, KEY_LABEL)
  if (key !== undefined) variables.push(['ansible_ssh_private_key_file', key])
  return [...variables, ...variablesOf(labels)]
}

/** Whether an inventory is for a record: one of ssh, of a connection that Ansible knows, or of no kind that is said. */
export function isForAnsible({ labels }: Configuration): boolean {
  const kind = kindOf(labels) ?? 'ssh'
  return kind === 'ssh' || isOtherConnection(kind)
}

/** Why no inventory can have a record, to complete "The record …"; undefined if one can. */
export function obstacleOfHost(record: Configuration, find: FindRecord): string | undefined {
  const { name, labels } = record
  if (name.includes('[')) return 'has a name with "[", where Ansible looks for a range'
  if (HOST_AND_PORT.test(name)) return 'has a name that ends in a port to Ansible'
  if (groupNames.has(name)) return 'has a name that Ansible gives to a group'
  if (isOwnMachine(name)) return 'has a name that Ansible takes for the machine it runs on'
  if (isTemplate(name)) return 'has a name that is a template to Ansible'
  if (labels === undefined) return undefined
  const variables = variablesOf(labels)
  if (new Set(variables.map(([variable]) => variable)).size < variables.length)
    return 'has labels that would be the same variable to Ansible'
  const jump = writtenJump(record, find)
  return typeof jump === 'string' ? jump : obstacleOfKey(record)
}

/** What to know of the way to a host; each completes "The record …". */
export function warningsOfHost(record: Configuration, find: FindRecord): readonly string[] {
  const jump = writtenJump(record, find)
  return typeof jump === 'object' ? jump.warnings : []
}

function obstacleOfKey({ labels }: Configuration): string | undefined {
  const key = labelOf(labels, KEY_LABEL)
  const detail =
    key === undefined ? undefined : (faultOfKeyPath(key) ?? (key.includes('"') ? QUOTED : undefined))
  return detail === undefined ? undefined : `has a label ${KEY_LABEL} that ${detail}`
}

const QUOTED = 'holds a quotation mark, which Ansible passes on as it is'

/** The host variables of all labels that have no place of their own in an inventory, in one for ssh, or for libpq. */
function variablesOf(labels: Labels = {}): [variable: string, value: string][] {
  return Object.keys(labels)
    .filter((key) => key !== GROUP_KEY && key !== KIND_LABEL && !/^(?:ssh|pg)\./.test(key))
    .map((key) => [`connbook_label_${variableOfKey(key)}`, labelOf(labels, key) ?? ''])
}

/** Whether a name means the machine that Ansible runs on, to Ansible or to whoever writes playbooks. */
function isOwnMachine(name: string): boolean {
  return ownMachine.has(name.toLowerCase())
}

/** Whether Ansible would evaluate a text. */
export function isTemplate(text: string): boolean {
  return /\{[{%#]/.test(text)
}

/** The groups of a record, from its label `group`: commas between several. Every host is in `all` anyway. */
function groupsOf({ labels }: Configuration): string[] {
  return groupsIn(labelOf(labels, GROUP_KEY) ?? '').filter((name) => name !== 'all')
}

/** Ends of the text that lists the groups. */
interface GroupsForm {
  /** Whether hosts without a group are listed, too, as the group `ungrouped`. */
  readonly listsUngrouped: boolean
  /**
   * In short texts; an empty one for a pause.
   *
   * @param namesOf The names of the hosts of a group; undefined for a pause.
   */
  pieces(
    groups: readonly string[],
    namesOf: (group: string) => Iterable<string | undefined>,
  ): Iterable<string>
}

/**
 * The groups of an inventory, each with the names of its hosts. Ansible takes nearly every name of a group, though it
 * may warn of it.
 */
export class GroupMembers implements ExportTail {
  readonly #form: GroupsForm
  readonly #notes: ExportNotes
  /** That of `ungrouped` stays empty: who has no group is found again among the records. */
  readonly #groups = new Map<string, string[]>()
  readonly #leftOut = new Set<string>()
  /** Only of a form that lists all of them. */
  readonly #hosts: PositionSet
  readonly #ungrouped: PositionSet
  /** Those whose groups were removed. */
  #orphans: readonly string[] = []

  constructor(form: GroupsForm, notes: ExportNotes, count: number) {
    this.#form = form
    this.#notes = notes
    const positions = form.listsUngrouped ? count : 0
    this.#hosts = new PositionSet(positions, notes)
    this.#ungrouped = new PositionSet(positions, notes)
  }

  get leftOutGroups(): readonly string[] {
    return [...this.#leftOut]
  }

  take(record: Configuration, position: number): void {
    let isGrouped = false
    for (const [i, group] of groupsOf(record).entries()) {
      // Ansible evaluates the names of a host's groups.
      const isPossible = !impossible.has(group) && !isOwnMachine(group) && !isTemplate(group)
      if (i < ANSIBLE_GROUPS_MAX && isPossible) {
        isGrouped = true
        this.#note(group, record.name)
      } else if (this.#leftOut.size < LEFT_OUT_LISTED_MAX) this.#leftOut.add(group)
    }
    if (!this.#form.listsUngrouped) return
    this.#hosts.add(position)
    if (isGrouped) return
    this.#ungrouped.add(position)
    this.#namesOf(UNGROUPED)
  }

  /** The variables that a script gives a host with the name of a group, Ansible gives to that group: so it is removed. */
  *settle(records: Iterable<Configuration>): LongWork<void> {
    if (!this.#form.listsUngrouped) return
    const hosts = new Set<string>()
    yield* inSteps(records, ({ name }, position) => {
      if (this.#groups.has(name) && this.#hosts.has(position)) hosts.add(name)
    })
    const removed = [...this.#groups].filter(([group]) => hosts.has(group))
    if (removed.length === 0) return
    for (const [group] of removed) {
      this.#groups.delete(group)
      if (this.#leftOut.size < LEFT_OUT_LISTED_MAX) this.#leftOut.add(group)
    }
    const orphans = new Set<string>()
    for (const [, names] of removed) {
      this.#notes.add(NOTED_NAME_BYTES * names.length)
      yield* inSteps(names, (name) => orphans.add(name))
    }
    for (const names of this.#groups.values()) yield* inSteps(names, (name) => orphans.delete(name))
    this.#orphans = [...orphans]
    if (orphans.size > 0) this.#namesOf(UNGROUPED)
  }

  pieces(records: Iterable<Configuration>): Iterable<string> {
    const namesOf = (group: string) =>
      group === UNGROUPED ? this.#findUngrouped(records) : (this.#groups.get(group) ?? [])
    return inPieces(this.#form.pieces([...this.#groups.keys()], namesOf))
  }

  *#findUngrouped(records: Iterable<Configuration>): Generator<string | undefined> {
    let position = 0
    for (const { name } of records) {
      if (this.#ungrouped.has(position)) yield name
      position += 1
      if (position % ITEMS_A_STEP === 0) yield undefined
    }
    yield* this.#orphans
  }

  #note(group: string, name: string) {
    this.#notes.add(REFERENCE_BYTES)
    this.#namesOf(group).push(name)
  }

  #namesOf(group: string): string[] {
    let names = this.#groups.get(group)
    if (names === undefined) {
      this.#notes.add(2 * NOTED_NAME_BYTES + group.length)
      names = []
      this.#groups.set(group, names)
    }
    return names
  }
}

/** Joins short texts into pieces of about STREAM_PIECE_CHARACTERS, or of what a slice has time for, even if that is none. */
function* inPieces(texts: Iterable<string>): Generator<string> {
  const clock = new SliceClock()
  clock.begin()
  let piece = ''
  for (const text of texts) {
    piece += text
    if (!clock.isOverAfterStep() && piece.length < STREAM_PIECE_CHARACTERS) continue
    yield piece
    piece = ''
    clock.begin()
  }
  if (piece !== '') yield piece
}
