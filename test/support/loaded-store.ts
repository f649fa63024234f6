import type { Scheduler } from '../../src/scheduler.ts'
import type { Change } from '../../src/store/change.ts'
import type { ChangeLog } from '../../src/store/change-log.ts'
import { Configuration, type NewConfiguration } from '../../src/store/configuration.ts'
import { ConfigurationIndex } from '../../src/store/configuration-index.ts'
import { ConfigurationStore } from '../../src/store/configuration-store.ts'
import { OwnChanges } from '../../src/store/own-changes.ts'
import { Records } from '../../src/store/records.ts'

/**
 * A store in memory alone, for tests of reading: nothing is kept, and each change is durable at once.
 *
 * @param drafts Get the ids from 1 on; records keep theirs, which must rise.
 */
export function loadStore(
  drafts: readonly (NewConfiguration | Configuration)[],
  scheduler: Scheduler,
): ConfigurationStore {
  const loaded = drafts.map((each, i) =>
    each instanceof Configuration ? each : new Configuration(i + 1, each),
  )
  const jsonBytes = loaded.reduce((sum, record) => sum + record.jsonBytes, 0)
  const index = new ConfigurationIndex()
  index.load(loaded, jsonBytes, loaded.length, loaded.at(-1)?.id ?? 0)
  const records = new Records(index, scheduler)
  const log = new MemoryChangeLog(records)
  return new ConfigurationStore(records, log, new OwnChanges(records, log, scheduler, 1_000))
}

class MemoryChangeLog implements ChangeLog {
  readonly store = 'loaded0-0000'
  readonly isWritable = true
  readonly metrics = []
  readonly #records: Records

  constructor(records: Records) {
    this.#records = records
  }

  async append(change: Change) {
    this.#records.apply(change, this.#records.index.revision + 1)
  }

  async appendTogether(changes: readonly Change[]) {
    for (const change of changes) await this.append(change)
  }

  async appendInSlices() {
    throw new Error('A loaded store takes no large import')
  }

  async close() {}
}
