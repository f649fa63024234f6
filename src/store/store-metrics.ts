import { type Family, gauge } from '../metrics/family.ts'
import type { ConfigurationStore } from './configuration-store.ts'

export function storeMetrics(store: ConfigurationStore, isWritable: () => boolean): Family[] {
  return [
    gauge('connbook_records', 'Stored configurations.', () => store.count),
    gauge(
      'connbook_writable',
      '1 while changes are accepted, 0 while they are refused because the disk failed.',
      () => (isWritable() ? 1 : 0),
    ),
    ...store.storageMetrics,
  ]
}
