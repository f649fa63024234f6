import type { Journal } from '../../journal/journal.ts'
import type { Family } from '../../metrics/family.ts'
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
    {
      name: 'connbook_journal_bytes',
      help: 'Size of the journal of changes, which begins anew with each snapshot.',
      type: 'gauge',
      samples: () => [{ value: journal.size }],
    },
    {
      name: 'connbook_journal_changes_total',
      help: 'Changes of records that were written to the journal and synced.',
      type: 'counter',
      samples: () => [{ value: activity.changes.value }],
    },
    {
      name: 'connbook_journal_frames_total',
      help: 'Groups of changes that went to disk together.',
      type: 'counter',
      samples: () => [{ value: activity.frames.value }],
    },
    {
      name: 'connbook_journal_fsync_duration_seconds',
      help: 'How long the disk took to sync such a group.',
      type: 'histogram',
      samples: () => [{ value: activity.syncSeconds }],
    },
    {
      name: 'connbook_snapshots_total',
      help: 'Snapshots that were written, and those that failed.',
      type: 'counter',
      samples: () => [
        { labels: { outcome: 'written' }, value: snapshots.written },
        { labels: { outcome: 'failed' }, value: snapshots.failed },
      ],
    },
    {
      name: 'connbook_snapshot_last_timestamp_seconds',
      help: 'When the last snapshot of this process was complete, in seconds since 1970.',
      type: 'gauge',
      samples: () => (snapshots.last === undefined ? [] : [{ value: snapshots.last.atMs / 1000 }]),
    },
    {
      name: 'connbook_snapshot_last_duration_seconds',
      help: 'How long the last snapshot of this process took.',
      type: 'gauge',
      samples: () => (snapshots.last === undefined ? [] : [{ value: snapshots.last.seconds }]),
    },
  ]
}
