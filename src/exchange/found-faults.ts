import type { Fault } from '../errors.ts'
import { allOf } from '../text.ts'
import { type FoundFault, type ImportWarning, LINES_LISTED_MAX } from './row.ts'

/** A fault, in the file that was named or in one that it includes. */
export interface FileFault extends Fault {
  readonly file?: string | undefined
}

interface Group {
  readonly fault: FileFault
  readonly order: number
  /** Lines, or records where the form has no lines. */
  count: number
  readonly lines: number[]
  last: number | undefined
  hosts: number
  readonly names: string[]
  lastName: string | undefined
}

/** Records that a group names. */
const NAMES_LISTED_MAX = 20

/**
 * The faults of a file. Those of the same reason are one, with the first lines, or the first name; those that change where a
 * connection goes come before the others, however many these are.
 */
export class FoundFaults {
  readonly #max: number
  readonly #ways: Group[] = []
  readonly #others: Group[] = []
  readonly #groups = new Map<string, Group>()
  #count = 0

  /** @param max How many groups are kept; the rest is only counted. */
  constructor(max: number) {
    this.#max = max
  }

  get count(): number {
    return this.#count
  }

  add({ isShared = false, isWay = false, hosts, order, ...fault }: FoundFault): void {
    const { file = '', line, name, field, detail } = fault
    const key = isShared ? JSON.stringify([file, field, detail]) : undefined
    const before = key === undefined ? undefined : this.#groups.get(key)
    // Several records of one line are one fault; several rows of one line are not.
    const isSameLine = line !== undefined && before?.last === line
    const isOfRecord = name !== undefined || hosts !== undefined
    if (!isSameLine || !isOfRecord) this.#count += 1
    if (before !== undefined && (!isSameLine || isOfRecord)) {
      addTo(before, !isSameLine, line, name, hosts)
      return
    }
    const groups = isWay ? this.#ways : this.#others
    if (groups.length >= this.#max) return
    const group = {
      fault,
      order: order ?? line ?? 0,
      count: 0,
      lines: [],
      last: undefined,
      hosts: 0,
      names: [],
      lastName: undefined,
    }
    addTo(group, true, line, name, hosts)
    groups.push(group)
    if (key !== undefined) this.#groups.set(key, group)
  }

  list(): FileFault[] {
    return this.#sorted().map(listedFault)
  }

  /** What to say where all of it is left out: as many as `list` has at most; the last counts what has no place. */
  warnings(): ImportWarning[] {
    const all = this.#sorted()
    const groups = sumOf(all) === this.#count ? all : all.slice(0, this.#max - 1)
    const rest = this.#count - sumOf(groups)
    return [
      ...groups.map(leftOutWarning),
      ...(rest > 0 ? [{ detail: `left out: ${rest} more, for other reasons` }] : []),
    ]
  }

  #sorted(): Group[] {
    const sorted = [this.#ways, this.#others].map((groups) => groups.toSorted((a, b) => a.order - b.order))
    return sorted.flat().slice(0, this.#max)
  }
}

function sumOf(groups: readonly Group[]): number {
  return groups.reduce((sum, { count }) => sum + count, 0)
}

function addTo(group: Group, isNew: boolean, line?: number, name?: string, hosts?: number): void {
  // Several lines of one record are of one.
  const isNamed = name !== undefined && name !== group.lastName
  group.hosts += hosts ?? (isNamed ? 1 : 0)
  if (isNamed && group.names.length < NAMES_LISTED_MAX) group.names.push(name)
  group.lastName = name
  if (!isNew) return
  group.count += 1
  group.last = line
  if (line !== undefined && group.lines.length < LINES_LISTED_MAX) group.lines.push(line)
}

function listedFault({ fault, count, lines, hosts }: Group): FileFault {
  if (lines.length === 0) return count === 1 ? fault : { ...fault, more: count - 1 }
  const { name, ...others } = fault
  const detail = hosts > count ? `${fault.detail}; so for ${hosts} hosts` : fault.detail
  const more = count - lines.length
  return {
    ...(hosts > 1 || name === undefined ? others : fault),
    detail,
    ...(count > 1 ? { lines } : {}),
    ...(more > 0 ? { more } : {}),
  }
}

function leftOutWarning({ fault, count, lines, hosts, names }: Group): ImportWarning {
  const { line, field } = fault
  const moreLines = count - lines.length
  const moreNames = Math.max(hosts, lines.length === 0 ? count : 0) - names.length
  const places = count > 1 && lines.length > 0 ? `: lines ${listed(lines.map(String), moreLines)}` : ''
  const of =
    names.length > 1
      ? `; of ${listed(
          names.map((name) => JSON.stringify(name)),
          moreNames,
        )}`
      : soFor(hosts)
  const [name] = names.length === 1 ? names : []
  return {
    ...(line === undefined ? {} : { line }),
    ...(name === undefined ? {} : { name }),
    detail: `left out: ${field} ${fault.detail}${places}${of}`,
  }
}

function soFor(hosts: number): string {
  return hosts > 1 ? `; so for ${hosts} hosts` : ''
}

function listed(texts: readonly string[], more: number): string {
  return allOf([...texts, ...(more > 0 ? [`${more} more`] : [])])
}

/** How many of the faults of a file the listed ones are. */
export function countFaults(faults: readonly Fault[]): number {
  return faults.reduce((sum, { lines, more = 0 }) => sum + (lines?.length ?? 1) + more, 0)
}
