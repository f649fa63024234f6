import { FRAME_CHANGES_MAX } from '../../src/limits.ts'
import type { Scheduler } from '../../src/scheduler.ts'
import type { ChangeLog, Commit, Committed } from '../../src/store/change-log.ts'
import { Configuration, type NewConfiguration } from '../../src/store/configuration.ts'
import { ConfigurationIndex } from '../../src/store/configuration-index.ts'
import { ConfigurationStore } from '../../src/store/configuration-store.ts'
import { Records } from '../../src/store/records.ts'
import { Writer } from '../../src/store/writer.ts'

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
  return new ConfigurationStore(records, log, new Writer(records, log, scheduler))
}

class MemoryChangeLog implements ChangeLog {
  readonly store = 'loaded0-0000'
  readonly isWritable = true
  readonly metrics = []
  readonly namesMax = FRAME_CHANGES_MAX
  readonly allowsSequences = true
  readonly #records: Records

  constructor(records: Records) {
    this.#records = records
  }

  checkWritable(): void {}

  prepare(): undefined {}

  async commit({ changes, isBulk }: Commit): Promise<Committed> {
    const first = this.#records.index.revision + 1
    await (isBulk ? this.#records.applyTogether(changes, first) : this.#records.apply(changes, first))
    return { changes, revision: this.#records.index.revision }
  }

  catchUp(): undefined {}

  async close() {}
}
