import type { Family } from '../metrics/family.ts'
import type { ConfigurationStore } from './configuration-store.ts'

/**
 * What is told of the records and of the files that keep them.
 *
 * @param isWritable Whether changes are taken.
 */
export function storeMetrics(store: ConfigurationStore, isWritable: () => boolean): Family[] {
  const { journalActivity, snapshots } = store
  return [
    {
      name: 'connbook_records',
      help: 'Configurations that are kept.',
      type: 'gauge',
      samples: () => [{ value: store.count }],
    },
    {
      name: 'connbook_writable',
      help: 'Whether changes are taken (1), or refused because the disk failed (0).',
      type: 'gauge',
      samples: () => [{ value: isWritable() ? 1 : 0 }],
    },
    {
      name: 'connbook_journal_bytes',
      help: 'Size of the journal of changes, which begins anew with each snapshot.',
      type: 'gauge',
      samples: () => [{ value: store.journalBytes }],
    },
    {
      name: 'connbook_journal_changes_total',
      help: 'Changes of records that were written to the journal and synced.',
      type: 'counter',
      samples: () => [{ value: journalActivity.changes.value }],
    },
    {
      name: 'connbook_journal_frames_total',
      help: 'Groups of changes that went to disk together.',
      type: 'counter',
      samples: () => [{ value: journalActivity.frames.value }],
    },
    {
      name: 'connbook_journal_fsync_duration_seconds',
      help: 'How long the disk took to sync such a group.',
      type: 'histogram',
      samples: () => [{ value: journalActivity.syncSeconds }],
    },
    {
      name: 'connbook_snapshots_total',
      help: 'Snapshots that were written, and those that failed.',
      type: 'counter',
      samples: () => [
        { labels: { outcome: 'written' }, value: snapshots.written.value },
        { labels: { outcome: 'failed' }, value: snapshots.failed.value },
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
