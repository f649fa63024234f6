import type { Fault } from '../errors.ts'
import type { ImportWarning, ReadColumn } from '../exchange/row.ts'
import { explain, Refusal, Unreachable } from './api.ts'
import { type Configuration, fields } from './configuration.ts'
import { element, headRow } from './element.ts'
import { grouped } from './figure-text.ts'
import { type ChangedMembers, fieldChanges } from './history-entry.ts'
import { changeList } from './history-text.ts'
import { tooLarge } from './import-format.ts'
import { shown } from './shown-text.ts'

const kinds = ['added', 'modified', 'removed'] as const

export type Counts = Readonly<Record<(typeof kinds)[number] | 'unchanged', number>> & {
  /** What is not imported, although nothing is wrong with it. */
  readonly warnings?: readonly ImportWarning[]
}

/** The answer to a dry run. */
export interface Trial extends Counts {
  /** How the server read the file; `columns` only of CSV. */
  readonly read: {
    readonly columns?: readonly ReadColumn[]
    /** The first records without a fault. */
    readonly first: readonly Omit<Configuration, 'id'>[]
  }
  /** The first of each kind. */
  readonly names: Readonly<Record<(typeof kinds)[number], readonly string[]>>
  /** What would become of the first records that would be modified. */
  readonly changed: readonly { readonly name: string; readonly changed: ChangedMembers }[]
}

const LISTED_MAX = 200
const KEPT = 'The file and what you have chosen stay: one more press tries again.'

/**
 * What to say about an import that failed.
 *
 * @param isSent Whether all of the file had been sent for an import that changes records.
 */
export function explainImport(error: unknown, bytes: number, isSent: boolean): string {
  if (error instanceof Unreachable) {
    return isSent
      ? `The server went away before it answered: it has imported all of the file or nothing. "Check" shows which: after an import, everything is unchanged.`
      : `Cannot reach the server; nothing has changed. ${KEPT}`
  }
  if (!(error instanceof Refusal)) return `${explain(error)} ${KEPT}`
  if (error.status === 413) return tooLarge(bytes)
  return error.faults.length > 0 ? explain(error) : `${explain(error)} ${KEPT}`
}

export function countsText({ added, modified, removed, unchanged }: Counts): string {
  return `${grouped(added)} added, ${grouped(modified)} modified, ${grouped(removed)} removed, ${grouped(unchanged)} unchanged`
}

/** How the server read a file, as the body of a refusal says it; undefined if it does not. */
export function readFormIn(body: string): Trial['read'] | undefined {
  try {
    return (JSON.parse(body) as { read?: Trial['read'] }).read
  } catch {
    return undefined
  }
}

/** The first records, as they would become; nothing without any. */
export function firstRecords({ first }: Trial['read']): readonly HTMLElement[] {
  if (first.length === 0) return []
  const title = 'The first records, as they would become'
  const hasLabels = first.some(({ labels }) => labels !== undefined)
  const rows = first.map((record) =>
    element(
      'tr',
      {},
      ...fields.map(({ name }) => element('td', {}, shown(String(record[name] ?? '')))),
      hasLabels && element('td', {}, ...labelsOf(record)),
    ),
  )
  const headings = [...fields.map(({ heading }) => heading), ...(hasLabels ? ['Labels'] : [])]
  return [scrolledTable(title, 'first', headings, rows)]
}

function labelsOf({ labels = {} }: Pick<Configuration, 'labels'>): (Node | string)[] {
  return Object.entries(labels).flatMap(([key, value], at) => [
    ...(at > 0 ? [', '] : []),
    shown(`${key}=${value}`),
  ])
}

/** What the server has left out of a file; nothing without warnings. */
export function warningTables({ warnings = [] }: Counts): readonly HTMLElement[] {
  return warnings.length === 0 ? [] : [faultTable('Left out', warnings, new Map(), 'What')]
}

/** The names of a dry run, a fold for each kind; with what becomes of the records that it would modify. */
export function nameLists(trial: Trial): readonly HTMLElement[] {
  const changes = new Map(trial.changed.map(({ name, changed }) => [name, changed]))
  return kinds
    .filter((kind) => trial[kind] > 0)
    .map((kind) =>
      element(
        'details',
        { open: trial[kind] <= 20 },
        element('summary', {}, `${grouped(trial[kind])} ${kind}`),
        nameList(trial.names[kind], trial[kind], kind === 'modified' ? changes : undefined),
      ),
    )
}

/**
 * The first names, and how many there are more.
 *
 * @param changes What becomes of records, by name.
 */
export function nameList(
  names: readonly string[],
  count: number,
  changes?: ReadonlyMap<string, ChangedMembers>,
): HTMLElement {
  const listed = names.slice(0, LISTED_MAX)
  const more = count - listed.length
  return element(
    'ul',
    { class: 'names', tabindex: 0, 'aria-label': 'Names' },
    ...listed.map((name) => {
      const changed = changes?.get(name)
      return element('li', {}, shown(name), changed !== undefined && changeList(fieldChanges(changed)))
    }),
    more > 0 && element('li', {}, `and ${grouped(more)} more`),
  )
}

/** A table of what is wrong, to be scrolled and focused. */
export function faultTable(
  title: string,
  faults: readonly ListedFault[],
  lines: ReadonlyMap<number, string> = new Map(),
  heading = 'Fault',
): HTMLElement {
  const columns = [
    { title: 'Line', show: lineText },
    { title: 'Name', show: nameText },
    { title: heading, show: ({ detail }: ImportWarning) => shown(detail) },
    {
      title: 'Text of the line',
      show: ({ line }: ImportWarning) => element('code', {}, shown(lines.get(line ?? 0) ?? '')),
    },
  ].filter(({ show }) =>
    faults.some((fault) => {
      const cell = show(fault)
      return cell instanceof Node ? cell.textContent !== '' : cell
    }),
  )
  const rows = faults.map((fault) =>
    element('tr', {}, ...columns.map(({ show }) => element('td', {}, show(fault)))),
  )
  return scrolledTable(
    title,
    'faults',
    columns.map((column) => column.title),
    rows,
  )
}

type ListedFault = ImportWarning & Pick<Fault, 'lines' | 'more'>

/** The lines of a fault that several have: the first of them, and how many there are more. */
function lineText({ line, lines, more = 0 }: ListedFault): string | false {
  if (lines === undefined) return line !== undefined && grouped(line)
  return lines.map(grouped).join(', ') + andMore(more)
}

function nameText({ name, lines, more = 0 }: ListedFault): HTMLElement | false {
  return name !== undefined && element('span', {}, shown(name), lines === undefined ? andMore(more) : '')
}

function andMore(more: number): string {
  return more > 0 ? ` and ${grouped(more)} more` : ''
}

function scrolledTable(
  title: string,
  className: string,
  headings: readonly string[],
  rows: readonly HTMLElement[],
): HTMLElement {
  return element(
    'div',
    { class: 'scrolled', role: 'region', 'aria-label': title, tabindex: 0 },
    element(
      'table',
      { class: className },
      element('caption', { class: className === 'faults' ? 'unseen' : false }, title),
      headRow(...headings),
      element('tbody', {}, ...rows),
    ),
  )
}
