import type { ApiRequest } from './api.ts'
import type { App } from './app.ts'
import { type Child, element } from './element.ts'
import { type FieldChange, type HistoryEntry, verbOf } from './history-entry.ts'
import type { KnownHistory } from './put-back.ts'
import { shown } from './shown-text.ts'

/** As many as the API gives at most. */
export const ENTRIES_MAX = 100

/** @throws As `Api.call`: 404 if no record is known to have had the name. */
export async function readHistory(app: App, name: string, request: ApiRequest = {}): Promise<KnownHistory> {
  const answer = await app.api.call(`v1/history/${encodeURIComponent(name)}?limit=${ENTRIES_MAX}`, request)
  return JSON.parse(answer.text) as KnownHistory
}

/** When somebody did what. */
export function sentenceOf(entry: HistoryEntry): readonly Child[] {
  return [timeOf(entry), ' ', ...actorOf(entry), element('b', {}, verbOf(entry))]
}

export function timeOf({ time }: HistoryEntry): HTMLTimeElement {
  return element('time', { datetime: time, title: time }, formatTime(time))
}

/** Who did it, with a blank after it. */
export function actorOf({ by, kind, command, via }: HistoryEntry): readonly Child[] {
  if (by === undefined) return []
  if (via?.claimed !== undefined) return [shown(by), ' (claims: ', shown(via.claimed), ') ']
  if (command !== undefined) return [shown(by), ' (by the command ', shown(command), ') ']
  return [shown(by), kind === 'client' ? ' (a client) ' : ' ']
}

/** Why it was done, as its caller says. */
export function reasonOf({ reason }: HistoryEntry): HTMLElement | undefined {
  return reason === undefined ? undefined : element('p', {}, 'Reason: ', shown(reason))
}

/** What stood there before, and what stands there after, field by field. */
export function changeList(changes: readonly FieldChange[]): HTMLElement {
  return element('ul', { class: 'changes' }, ...changes.map(changeOf))
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

/** Date and time of the browser. */
export function formatTime(time: string): string {
  return new Date(time).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })
}
