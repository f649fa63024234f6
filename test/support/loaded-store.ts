import type { Scheduler } from '../../src/scheduler.ts'
import type { Change } from '../../src/store/change.ts'
import type { ChangeLog, ChangeLogOwner } from '../../src/store/change-log.ts'
import { Configuration, type NewConfiguration } from '../../src/store/configuration.ts'
import { ConfigurationIndex } from '../../src/store/configuration-index.ts'
import { ConfigurationStore } from '../../src/store/configuration-store.ts'
import { ownChanges } from '../../src/store/own-changes.ts'

/**
 * A store in memory alone, for tests of reading: nothing is kept, and each change is durable at once.
 *
 * @param drafts Get the ids from 1 on.
 */
export function loadStore(drafts: readonly NewConfiguration[], scheduler: Scheduler): ConfigurationStore {
  const records = drafts.map((each, i) => new Configuration(i + 1, each))
  const jsonBytes = records.reduce((sum, record) => sum + record.jsonBytes, 0)
  const index = new ConfigurationIndex()
  index.load(records, jsonBytes, records.length, records.length)
  let revision = records.length
  return new ConfigurationStore(index, ownChanges(createLog, scheduler, 1_000), scheduler)

  function createLog({ apply }: ChangeLogOwner): ChangeLog {
    const append = async (change: Change) => apply(change, ++revision)
    return {
      store: 'loaded0-0000',
      isWritable: true,
      metrics: [],
      append,
      appendTogether: async (changes) => {
        for (const change of changes) await append(change)
      },
      appendInSlices: async () => {
        throw new Error('A loaded store takes no large import')
      },
      close: async () => {},
    }
  }
}
