import type { Journal } from '../../journal/journal.ts'
import { counter, type Family, gauge } from '../../metrics/family.ts'
import type { Change } from '../../store/change.ts'

/** Counted since the start. */
export interface SnapshotActivity {
  written: number
  failed: number
  /** The last snapshot that was written; `atMs` is its end, since 1970. */
  last: { readonly atMs: number; readonly seconds: number } | undefined
}

export function fileMetrics(journal: Journal<Change>, snapshots: Readonly<SnapshotActivity>): Family[] {
  const { activity } = journal
  return [
    gauge(
      'connbook_journal_bytes',
      'Size of the journal of changes; each snapshot starts a new one.',
      () => journal.size,
    ),
    counter(
      'connbook_journal_changes_total',
      'Changes of records that were written to the journal and synced.',
      () => activity.changes.value,
    ),
    counter(
      'connbook_journal_frames_total',
      'Groups of changes that went to disk together.',
      () => activity.frames.value,
    ),
    {
      name: 'connbook_journal_fsync_duration_seconds',
      help: 'How long the disk took to sync a group of changes.',
      type: 'histogram',
      samples: () => [{ value: activity.syncSeconds }],
    },
    {
      name: 'connbook_snapshots_total',
      help: 'Snapshots by outcome: written or failed.',
      type: 'counter',
      labels: ['outcome'],
      samples: () => [
        { labels: { outcome: 'written' }, value: snapshots.written },
        { labels: { outcome: 'failed' }, value: snapshots.failed },
      ],
    },
    gauge(
      'connbook_snapshot_last_timestamp_seconds',
      'When the last snapshot of this process was complete, in seconds since 1970.',
      () => snapshots.last && snapshots.last.atMs / 1000,
    ),
    gauge(
      'connbook_snapshot_last_duration_seconds',
      'How long the last snapshot of this process took.',
      () => snapshots.last?.seconds,
    ),
  ]
}
