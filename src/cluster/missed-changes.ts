import { UNLISTED_AT_ONCE_MAX } from '../limits.ts'
import type { ChangeTrail } from '../storage/change-trail.ts'
import type { Configuration } from '../store/configuration.ts'
import type { ClusterKeys } from './cluster-keys.ts'
import type { Gateway } from './gateway.ts'
import type { WatchEvent } from './messages.ts'
import { parseNodeEntry } from './node-entry.ts'
import { byRevision, changesOfRevision, parseRecordValue } from './revision-changes.ts'

/** Revisions of which a node has not heard, because it did not run. */
export interface Missed {
  readonly store: string
  readonly after: number
  /** A revision at which a node has written. */
  readonly upTo: number
}

/**
 * Lists in the trail of a node what the others have changed while it did not run.
 *
 * @returns False if etcd has compacted these changes.
 * @throws {EtcdError}
 */
export async function listMissed(
  gateway: Gateway,
  keys: ClusterKeys,
  trail: ChangeTrail,
  { store, after, upTo }: Missed,
): Promise<boolean> {
  const stop = new AbortController()
  const { key, end } = keys.all
  const watched = { key, end, fromRevision: after + 1, withPrevious: true, signal: stop.signal }
  let listed = 0
  let listedUpTo = after
  for await (const message of gateway.watch(watched)) {
    if (message.kind === 'compacted') return false
    if (message.kind !== 'events') continue
    for (const [revision, events] of byRevision(message.events)) {
      if (revision > upTo) return true
      if (events.some(hasLostItsPast)) return false
      const before = recordsBefore(events, keys)
      const entry = events.flatMap((event) =>
        event.kind === 'put' && keys.nodeOf(event.kv.key) !== undefined ? parseNodeEntry(event.kv.value) : [],
      )[0]
      const changes = changesOfRevision(events, keys, (name) => before.get(name), entry)
      for (const change of changes) {
        const name = 'remove' in change ? change.remove : 'modify' in change ? change.name : undefined
        trail.list(store, change, revision, name === undefined ? undefined : before.get(name), listedUpTo)
        listed += 1
        if (listed % UNLISTED_AT_ONCE_MAX === 0) await trail.sync().catch(() => {})
      }
      if (changes.length > 0) listedUpTo = revision
      if (revision === upTo) return true
    }
  }
  return true
}

/** Whether etcd has compacted what was there before an event: then it leaves that out. */
function hasLostItsPast(event: WatchEvent): boolean {
  return event.previous === undefined && (event.kind === 'delete' || event.kv.version > 1)
}

function recordsBefore(events: readonly WatchEvent[], keys: ClusterKeys): Map<string, Configuration> {
  const before = new Map<string, Configuration>()
  for (const { previous } of events) {
    const name = previous === undefined ? undefined : keys.nameOf(previous.key)
    if (previous !== undefined && name !== undefined) before.set(name, parseRecordValue(name, previous.value))
  }
  return before
}
