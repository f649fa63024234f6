import type { Family } from '../metrics/family.ts'
import type { ConfigurationStore } from './configuration-store.ts'

export function storeMetrics(store: ConfigurationStore, isWritable: () => boolean): Family[] {
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
    ...store.storageMetrics,
  ]
}
