import { counter, type Family, gauge } from '../metrics/family.ts'

/** Counted since the start. */
export interface BatchActivity {
  batches: number
  changes: number
  /** Tries that another node was faster than. */
  lost: number
  /** Batches whose answer was lost, or late. */
  uncertain: number
}

export function clusterMetrics(activity: Readonly<BatchActivity>): Family[] {
  return [
    counter(
      'connbook_cluster_batches_total',
      'Transactions of changes that this node has made in etcd.',
      () => activity.batches,
    ),
    counter(
      'connbook_cluster_changes_total',
      'Changes of records in those transactions.',
      () => activity.changes,
    ),
    counter(
      'connbook_cluster_retries_total',
      'Transactions that were tried again because another node was faster.',
      () => activity.lost,
    ),
    counter(
      'connbook_cluster_uncertain_total',
      'Transactions whose answer was lost or late.',
      () => activity.uncertain,
    ),
  ]
}

/** What a node knows of the cluster. */
export interface FollowedState {
  readonly endpoint: string
  /** Revision of etcd up to which this node has all changes. */
  readonly revision: number
  /** Since the last check that nothing was missing. */
  readonly secondsSinceCheck: number
  /** Watches that were begun after the first one. */
  readonly reconnects: number
}

export function followerMetrics(state: () => FollowedState): Family[] {
  return [
    gauge(
      'connbook_cluster_check_age_seconds',
      'Time since this node last knew that it has heard of all changes.',
      () => state().secondsSinceCheck,
    ),
    gauge(
      'connbook_cluster_revision',
      'Revision of etcd up to which this node has heard of all changes.',
      () => state().revision,
    ),
    counter(
      'connbook_cluster_reconnects_total',
      'How often this node began to hear of changes anew.',
      () => state().reconnects,
    ),
    {
      name: 'connbook_cluster_endpoint_info',
      help: 'The member of etcd in use.',
      type: 'gauge',
      labels: ['endpoint'],
      samples: () => [{ labels: { endpoint: state().endpoint }, value: 1 }],
    },
  ]
}
