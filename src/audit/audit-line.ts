import type { Actor, Authorship } from '../store/authorship.ts'
import type { Change } from '../store/change.ts'
import type { Configuration } from '../store/configuration.ts'
import { fieldNames } from '../store/fields.ts'
import { changedLabels, labelOf } from '../store/labels.ts'
import { escapeHidden } from '../text.ts'

/** Values of an event; never a secret, a token, a cookie or a password. */
export type AuditFields = Readonly<Record<string, unknown>>

/** A line of the trail. What an attacker can choose comes last, and is escaped. */
export function auditLine(
  time: string,
  event: AuditEvent,
  actor: Actor | undefined,
  fields?: AuditFields,
  record?: { readonly json: string },
): string {
  let line = JSON.stringify(Object.assign(startOf(time, event, actor), fields))
  if (record !== undefined) line = `${line.slice(0, -1)},"record":${record.json}}`
  if (actor?.reason !== undefined) line = `${line.slice(0, -1)},"reason":${JSON.stringify(actor.reason)}}`
  return `${escapeHidden(line)}\n`
}

/** Where a change is among all. */
export type ChangePlace = {
  /** Revision of the change before, if it is not the one before in number. */
  readonly after?: number
  /** Tag of the list with this change in it. */
  readonly tag: string
}

/** @param before The record as it was; undefined for one that is added. */
export function changeLine(
  change: Change,
  { actor, time }: Authorship,
  place: ChangePlace,
  before: Configuration | undefined,
): string {
  if ('modify' in change && before !== undefined) {
    const fields = { ...place, ...changesBetween(before, change.modify) }
    return auditLine(time, 'configuration_modified', actor, fields)
  }
  if ('add' in change) return auditLine(time, 'configuration_added', actor, place, change.add)
  return auditLine(time, 'configuration_deleted', actor, place, before)
}

/** Each changed field and label with both values; null stands for none. */
export function changesBetween(before: Configuration, after: Configuration) {
  const fields = fieldNames.filter((field) => before[field] !== after[field])
  const labels = changedLabels(before.labels, after.labels)
  const changed = [
    ...fields.map((field) => [field, { before: before[field] ?? null, after: after[field] ?? null }]),
    ...labels.map((key) => [`labels.${key}`, changeOfLabel(before, after, key)]),
  ]
  return { id: after.id, name: before.name, changed: Object.fromEntries(changed) }
}

function changeOfLabel(before: Configuration, after: Configuration, key: string) {
  return { before: labelOf(before.labels, key) ?? null, after: labelOf(after.labels, key) ?? null }
}

function startOf(time: string, event: string, actor: Actor | undefined): AuditFields {
  if (actor === undefined) return { time, event }
  if ('command' in actor) return { time, event, command: actor.command, by: actor.by, via: actor.via }
  const { address, principal, requestId } = actor
  return { time, event, address, kind: principal?.kind, by: principal?.name, request_id: requestId }
}

/** What the trail lists. */
export const auditEvents = [
  'first_started',
  'started',
  'stopped',
  'logged_in',
  'login_failed',
  'login_throttled',
  'logged_out',
  'token_issued',
  'token_refused',
  'token_throttled',
  'token_scope_refused',
  'login_not_checked',
  'token_not_checked',
  'attempts_not_listed',
  'successes_not_listed',
  'unchanged_not_listed',
  'credentials_ended',
  'configuration_added',
  'configuration_modified',
  'configuration_deleted',
  'configurations_imported',
  'configurations_changed',
  'configurations_removed',
  'user_added',
  'user_password_changed',
  'user_changed',
  'user_removed',
  'client_added',
  'client_rotated',
  'client_changed',
  'client_removed',
  'keys_rotated',
  'keys_revoked',
  'restored',
  'recovered',
  'lines_lost',
] as const

export type AuditEvent = (typeof auditEvents)[number]
