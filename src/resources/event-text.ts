import { EVENTS_RETRY_MS } from '../limits.ts'
import type { ConfigurationStore } from '../store/configuration-store.ts'
import { listTag, parseListTag, storeOfTag } from '../store/list-tag.ts'
import type { RecordChange } from '../store/recent-changes.ts'

type Told = Pick<ConfigurationStore, 'id' | 'revision' | 'recent'>

export const COMMENT_TEXT = ':\n\n'

/** The id of an event: a tag, or the number of one of the changes that share it. */
export interface EventId {
  readonly store: string
  readonly revision: number
  /** From 1; undefined for the last one. */
  readonly part: number | undefined
}

/** Undefined if it is none. */
export function parseEventId(text: string): EventId | undefined {
  const [, tag, part] = /^([0-9a-z]+-\d+)(?:\.([1-9]\d{0,8}))?$/.exec(text) ?? []
  const parsed = parseListTag(tag)
  return parsed && { ...parsed, part: part === undefined ? undefined : Number(part) }
}

/** The revision after which the changes have not been seen; undefined if they are not all known here. */
export function revisionOf({ id, revision, recent }: Told, seen: EventId): number | undefined {
  if (seen.store !== storeOfTag(id) || seen.revision > revision) return undefined
  let found = seen.revision
  if (seen.part !== undefined) {
    const change = recent.at(Math.min(seen.revision, recent.last))
    if (change?.lastTogether !== seen.revision) return undefined
    found = change.firstTogether + seen.part - 1
    if (found >= seen.revision) return undefined
  }
  return found < recent.floor ? undefined : found
}

/** The id of the event of a revision; of one that is not known, its tag. */
export function eventIdOf({ id, recent }: Pick<Told, 'id' | 'recent'>, revision: number): string {
  const change = recent.at(revision)
  return change === undefined ? listTag(id, revision) : idOf(id, change)
}

function idOf(store: string, { revision, firstTogether, lastTogether }: RecordChange): string {
  const tag = listTag(store, lastTogether)
  return revision === lastTogether ? tag : `${tag}.${revision - firstTogether + 1}`
}

/** What a stream begins with. It is no event, so that a stream that breaks before the first one can go on. */
export function beginningText(id: string): string {
  return `retry: ${EVENTS_RETRY_MS}\nid: ${id}\n\n`
}

/** Says that changes are missing, and which tag the records have now. */
export function resetText(tag: string): string {
  return `event: reset\nid: ${tag}\ndata: {}\n\n`
}

/** A comment that also says up to where a stream has told. */
export function commentText(id: string): string {
  return `:\nid: ${id}\n\n`
}

/** An event that tells a change. */
export function eventText(store: string, change: RecordChange): string {
  const { before, after } = change
  const kind = before === undefined ? 'added' : after === undefined ? 'removed' : 'modified'
  const also = kind === 'modified' ? `,"before":${before?.json}` : ''
  const record = (after ?? before)?.json
  return `event: ${kind}\nid: ${idOf(store, change)}\ndata: {"configuration":${record}${also}}\n\n`
}
