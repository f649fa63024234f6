import { type Call, explain } from './api.ts'
import type { App } from './app.ts'
import type { Configuration } from './configuration.ts'
import { openDialog } from './dialog.ts'
import { button, type Child, element } from './element.ts'
import { changesBetween, type FieldChange, type HistoryEntry, verbOf } from './history-entry.ts'
import { shown } from './shown-text.ts'

/** As many as the API gives at most. */
const ENTRIES_MAX = 100

interface History {
  readonly history: readonly HistoryEntry[]
  readonly since?: string
}

/** @throws As `Api.call`: 404 if no record is known to have had the name. */
export async function readHistory(app: App, name: string, call: Call = {}): Promise<History> {
  const answer = await app.api.call(`v1/history/${encodeURIComponent(name)}?limit=${ENTRIES_MAX}`, call)
  return JSON.parse(answer.text) as History
}

/** Shows who did what to a record, newest first. */
export function openHistory(app: App, { name }: Pick<Configuration, 'name'>): void {
  const body = element(
    'div',
    { class: 'body', 'aria-live': 'polite' },
    element('p', {}, 'Reading the history…'),
  )
  openDialog('History', [body], { className: 'history' })
  void read()

  async function read() {
    try {
      const { history, since } = await readHistory(app, name)
      body.replaceChildren(
        element('p', {}, 'Record: ', element('b', {}, shown(name))),
        element('ol', {}, ...history.map(entryOf)),
        element('p', { class: 'faint' }, rangeOf(history.length, since)),
      )
    } catch (error) {
      body.replaceChildren(
        element('p', { class: 'fault', role: 'alert' }, explain(error)),
        element(
          'p',
          {},
          button('Try again', () => void read()),
        ),
      )
    }
  }
}

function entryOf(entry: HistoryEntry): HTMLElement {
  return element('li', {}, ...sentenceOf(entry), element('ul', {}, ...changesBetween(entry).map(changeOf)))
}

/** When somebody did what. */
export function sentenceOf(entry: HistoryEntry): readonly Child[] {
  const time = element('time', { datetime: entry.time, title: entry.time }, formatTime(entry.time))
  return [time, ' ', ...actorOf(entry), element('b', {}, verbOf(entry))]
}

function actorOf({ by, kind, command }: HistoryEntry): (Node | string)[] {
  if (by === undefined) return []
  if (command !== undefined) return [shown(by), ' (by the command ', shown(command), ') ']
  return [shown(by), kind === 'client' ? ' (a client) ' : ' ']
}

function changeOf({ field, before, after }: FieldChange): HTMLElement {
  return element(
    'li',
    {},
    `${field}: `,
    before !== undefined && element('del', {}, shown(before)),
    before !== undefined && after !== undefined && ' → ',
    after !== undefined && element('ins', {}, shown(after)),
  )
}

function rangeOf(entries: number, since: string | undefined): string {
  if (entries === ENTRIES_MAX) return `The ${ENTRIES_MAX} newest changes are shown.`
  return since === undefined ? '' : `History goes back to ${formatTime(since)}.`
}

function formatTime(time: string): string {
  return new Date(time).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })
}
