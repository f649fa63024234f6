import { recordMemoryMax } from '../budget.ts'
import { type Family, gauge } from '../metrics/family.ts'
import type { ConfigurationStore } from './configuration-store.ts'
import { recordMemory } from './record-room.ts'

export function storeMetrics(store: ConfigurationStore, isWritable: () => boolean): Family[] {
  return [
    gauge('connbook_records', 'Stored configurations.', () => store.count),
    gauge(
      'connbook_records_memory_bytes',
      'Estimated memory of the records, with all that may be cached of them.',
      () => recordMemory(store),
    ),
    gauge(
      'connbook_records_memory_max_bytes',
      'What the records may take; changes that need more are answered 507.',
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
