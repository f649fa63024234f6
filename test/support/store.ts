import { type AuditTrail, openAuditTrail } from '../../src/audit/audit-trail.ts'
import type { FileSystem } from '../../src/files/file-system.ts'
import { openDataFolder } from '../../src/files/owned-folder.ts'
import { runAtOnce, type Scheduler } from '../../src/scheduler.ts'
import { openConfigurationStore } from '../../src/storage/file/file-storage.ts'
import type { Actor } from '../../src/store/authorship.ts'
import { type Change, encodeChanges } from '../../src/store/change.ts'
import type { NewConfiguration } from '../../src/store/configuration.ts'
import type { ConfigurationStore } from '../../src/store/configuration-store.ts'
import { listTag } from '../../src/store/list-tag.ts'
import { createMemoryLog, type MemoryLog } from './memory-log.ts'
import type { Lifetime } from './temporary-folder.ts'

export interface OpenStore {
  readonly store: ConfigurationStore
  readonly log: MemoryLog
  /** Undefined unless asked for. */
  readonly trail: AuditTrail | undefined
  /** Closes the store and gives the folder back; also done when the test ends. */
  close(): Promise<void>
}

/** Opens the store of a folder, as the service does. */
export async function openStore(
  t: Lifetime,
  path: string,
  {
    files,
    mustExist = false,
    hasTrail = false,
    snapshotBytesMin,
    recordBytesMax,
    scheduler,
  }: {
    files?: FileSystem
    mustExist?: boolean
    hasTrail?: boolean
    snapshotBytesMin?: number | undefined
    recordBytesMax?: number
    scheduler?: Scheduler
  } = {},
): Promise<OpenStore> {
  const folder = await openDataFolder(path)
  const paths = files ? { ...folder, files } : folder
  const log = createMemoryLog()
  let trail: AuditTrail | undefined
  try {
    trail = hasTrail ? await openAuditTrail(paths, log) : undefined
    const store = await openConfigurationStore(paths, {
      mustExist,
      log,
      trail,
      ...(snapshotBytesMin === undefined ? {} : { snapshotBytesMin }),
      ...(recordBytesMax === undefined ? {} : { recordBytesMax }),
      ...(scheduler === undefined ? {} : { scheduler }),
    })
    await trail?.begin(listTag(store.id, store.revision), {})
    const close = async () => {
      await store.close()
      await trail?.close()
      folder.release()
    }
    t.after(close)
    return { store, log, trail, close }
  } catch (error) {
    await trail?.close()
    folder.release()
    throw error
  }
}

/** Opens the store of a folder only to see what is in it. */
export async function storedNames(t: Lifetime, path: string): Promise<string[]> {
  const { store, close } = await openStore(t, path)
  const found = names(store)
  await close()
  return found
}

/** Names of all records that show, by rising id. */
export function names(store: ConfigurationStore): string[] {
  return store.list(0, store.count).map((record) => record.name)
}

export function draft(name: string, fields: Partial<NewConfiguration> = {}): NewConfiguration {
  return { name, hostname: 'host.example', port: 22, username: 'ops', ...fields }
}

/** Makes the changes of tests that do not care who does. */
export const someone: Actor = {
  address: '127.0.0.1',
  requestId: 'a-request',
  principal: { kind: 'user', name: 'someone' },
}

/** As a frame of the journal has them. */
export function encoded(changes: readonly Change[]): string {
  return Buffer.concat(runAtOnce(encodeChanges(changes))).toString()
}
