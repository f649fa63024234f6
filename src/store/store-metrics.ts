import { type Family, gauge } from '../metrics/family.ts'
import type { ConfigurationStore } from './configuration-store.ts'

export function storeMetrics(store: ConfigurationStore, isWritable: () => boolean): Family[] {
  return [
    gauge('connbook_records', 'Configurations that are kept.', () => store.count),
    gauge(
      'connbook_writable',
      'Whether changes are taken (1), or refused because the disk failed (0).',
      () => (isWritable() ? 1 : 0),
    ),
    ...store.storageMetrics,
  ]
}
