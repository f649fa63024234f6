import { type Family, gauge } from '../metrics/family.ts'
import type { ConfigurationStore } from './configuration-store.ts'
import { recordMemory, recordMemoryMax } from './record-room.ts'

export function storeMetrics(store: ConfigurationStore, isWritable: () => boolean): Family[] {
  return [
    gauge('connbook_records', 'Stored configurations.', () => store.count),
    gauge('connbook_records_memory_bytes', 'Estimated memory of the records, at most.', () =>
      recordMemory(store),
    ),
    gauge(
      'connbook_records_memory_max_bytes',
      'Above it, changes that need more memory are answered 507.',
      () => recordMemoryMax(),
    ),
    gauge(
      'connbook_writable',
      '1 while changes are accepted, 0 while they are refused because the disk failed.',
      () => (isWritable() ? 1 : 0),
    ),
    ...store.storageMetrics,
  ]
}
