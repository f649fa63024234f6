import assert from 'node:assert/strict'
import { type AuditTrail, openAuditTrail } from '../../../src/audit/audit-trail.ts'
import { ifPresent, StorageFullError, StorageUnavailableError } from '../../../src/errors.ts'
import { auditFiles, type DataPaths } from '../../../src/files/data-folder.ts'
import type { FileSystem } from '../../../src/files/file-system.ts'
import { forEachLine } from '../../../src/files/lines.ts'
import { isObject, parseJson } from '../../../src/json.ts'
import { openConfigurationStore } from '../../../src/storage/file/file-storage.ts'
import type { ImportMode } from '../../../src/store/authorship.ts'
import type { ImportPlan } from '../../../src/store/bulk-change.ts'
import type { Configuration, ConfigurationPatch, NewConfiguration } from '../../../src/store/configuration.ts'
import type { ConfigurationStore } from '../../../src/store/configuration-store.ts'
import { listTag, parseListTag } from '../../../src/store/list-tag.ts'
import { NameTakenError, UnknownNameError } from '../../../src/store/refusals.ts'
import type { Modification } from '../../../src/store/single-change.ts'
import { someone } from '../../support/store.ts'
import type { VolatileFiles } from '../volatile/volatile-files.ts'
import {
  describedRecord,
  emptyState,
  History,
  type HistoryChange,
  type ShownState,
  type State,
  type StoredRecord,
} from './history.ts'
import { lifeFolder, type Running, type Subject, silentLog } from './lives.ts'

/** A request to a store. */
export type ChangeRequest =
  | { readonly add: string; readonly size: number }
  /** A new name, a new value or both. */
  | { readonly modify: string; readonly to?: string; readonly size?: number }
  | { readonly remove: string }
  /** Different names. */
  | { readonly importing: readonly string[]; readonly mode: ImportMode; readonly size: number }

interface Pending {
  /** The store's last decision: what to write, or that there is nothing to write. */
  decision?: HistoryChange | 'nothing' | 'refusal'
}

const HOSTNAME = 'host.example'
const PORT = 22

/** Values differ between requests, so that an old value is recognized if it returns. */
let serial = 0

function nextValue(size: number): string {
  serial += 1
  return `v${serial};`.padEnd(size, `v${serial};`)
}

/** Labels for some values, none for the others. */
function labelsFor(value: string): Record<string, string> {
  return value.length % 3 === 0 ? { constructor: value.slice(0, 8), env: 'prod' } : {}
}

/** A store, and its id once it is open. */
interface StoreState {
  readonly id: string | undefined
  readonly shown: State
  /** The disks of all lives so far, also of those that ended before the store was open. */
  readonly disks: VolatileFiles[]
  /** The audit trail lists every later change; the disk kept it from listing a start before. */
  readonly listedAfter: number
}

/** The store of configurations. */
export const storeSubject: Subject<ChangeRequest, StoreState> = {
  get firstState() {
    return { id: undefined, shown: emptyState, disks: [], listedAfter: 0 }
  },
  begin(state) {
    const history = new History(state.shown)
    let { id } = state
    let hasBegun = true

    async function open(files: FileSystem, snapshotBytesMin: number) {
      const folder = { ...lifeFolder, files }
      const trail = await openAuditTrail(folder, silentLog)
      const options = {
        mustExist: id !== undefined,
        log: silentLog,
        trail,
        snapshotBytesMin,
      }
      const store = await openConfigurationStore(folder, options)
      if (id !== undefined) assert.equal(store.id, id)
      const isListed = await trail.begin(listTag(store.id, store.revision), {})
      return { store, trail, isListed }
    }
    return {
      async open(files, seen, { snapshotBytesMin }) {
        state.disks.push(files)
        const { store, trail, isListed } = await open(seen, snapshotBytesMin)
        id = store.id
        hasBegun = isListed
        return observeStore(store, history, files, trail)
      },
      async read(files) {
        const { store } = await open(files, Number.POSITIVE_INFINITY)
        const shown = history.checkFound(shownBy(store))
        // A failed write may have written some lines, which are then written again.
        const mayRepeat = state.disks.some(({ failures }) => failures > 0)
        const listedAfter = hasBegun ? state.listedAfter : store.revision
        await checkTrail({ ...lifeFolder, files }, store, listedAfter, mayRepeat)
        const both = { shown, disks: state.disks, listedAfter }
        return { found: { id, ...both }, opened: { id: store.id, ...both } }
      },
    }
  },
}

/**
 * A store whose decisions and answers are noted in a history and checked against it.
 *
 * @param disk The store's disk; once it is dead, no request is answered.
 */
function observeStore(
  store: ConfigurationStore,
  history: History,
  disk: Pick<VolatileFiles, 'isDead' | 'failures'>,
  trail: AuditTrail,
): Running<ChangeRequest> {
  const wrong: unknown[] = []
  let waiting = 0

  /** Keeps failed assertions from the store, which would take them for refusals. */
  function note(action: () => void) {
    try {
      action()
    } catch (error) {
      wrong.push(error)
    }
  }

  /** Called at the moment of a decision, so the changes get revisions in the order of these calls. */
  function take(pending: Pending, change: () => HistoryChange) {
    pending.decision = store.isWritable ? change() : 'refusal'
  }

  function add(pending: Pending, name: string, size: number): Promise<Configuration> {
    const username = nextValue(size)
    const fields = { name, hostname: HOSTNAME, port: PORT, username, labels: labelsFor(username) }
    return store.add(someone, {
      ...fields,
      // Read when the record is made, which is once the name is known to be free.
      get hostname() {
        note(() => {
          // Once the disk has failed, nothing that is decided is made.
          if (store.isWritable)
            assert.equal(history.latest(name), undefined, `"${name}" was added a second time`)
          take(pending, () => history.takeAdd(fields))
        })
        return HOSTNAME
      },
    })
  }

  function modify(
    pending: Pending,
    name: string,
    to: string | undefined,
    size: number | undefined,
  ): Promise<Modification> {
    const renamed = to === undefined ? {} : { name: to }
    const username = size === undefined ? undefined : nextValue(size)
    const labels = username === undefined ? {} : labelsFor(username)
    const patch: ConfigurationPatch = {
      ...renamed,
      ...(username === undefined
        ? {}
        : { username, labelsPatch: { constructor: null, env: null, ...labels } }),
    }
    return store.modify(someone, name, patch, (record) => {
      note(() => {
        checkLatest(name, record)
        const content = username === undefined ? {} : { username, labels }
        const changed = { ...plain(record), ...renamed, ...content }
        const isFree = changed.name === name || history.latest(changed.name) === undefined
        const isSame = describedRecord(changed) === describedRecord(record)
        if (isSame) pending.decision = 'nothing'
        else if (!isFree) pending.decision = 'refusal'
        else take(pending, () => history.take({ modify: changed, name }))
      })
      return true
    })
  }

  function remove(pending: Pending, name: string): Promise<Configuration> {
    return store.remove(someone, name, (record) => {
      note(() => {
        checkLatest(name, record)
        take(pending, () => history.take({ remove: name }))
      })
      return true
    })
  }

  function importAll(pending: Pending, names: readonly string[], mode: ImportMode, size: number) {
    // Some records are to stay as they are.
    const drafts = names.map((name, i) => {
      const username = i % 2 === 0 ? nextValue(size) : (history.latest(name)?.username ?? nextValue(size))
      return { name, hostname: HOSTNAME, port: PORT, username, labels: labelsFor(username) }
    })
    return store.importAll(someone, drafts, mode, () => {
      note(() => {
        // It is asked for when it is planned, and again in its turn, unless there was nothing to do.
        if (pending.decision === undefined) pending.decision = 'nothing'
        else decideImport(pending, drafts, mode)
      })
      return true
    })
  }

  function decideImport(pending: Pending, drafts: readonly NewConfiguration[], mode: ImportMode) {
    const all = history.allLatest()
    const isKept = (name: string) => mode === 'merge' || drafts.some((draft) => draft.name === name)
    const removes = [...all.keys()].filter((name) => !isKept(name)).map((name) => ({ remove: name }))
    const modifies = drafts.flatMap((draft) => {
      const old = all.get(draft.name)
      if (old === undefined || old.username === draft.username) return []
      return [{ modify: { ...old, ...draft }, name: draft.name }]
    })
    const added = drafts.filter(({ name }) => !all.has(name))
    if (removes.length + modifies.length + added.length === 0) pending.decision = 'nothing'
    else {
      take(pending, () => {
        const adds = added.map((draft) => history.nextAdd(draft))
        return history.take({ together: [...removes, ...modifies, ...adds] })
      })
    }
  }

  function checkLatest(name: string, record: Configuration) {
    if (!store.isWritable) return
    const latest = history.latest(name)
    assert.ok(latest !== undefined, `"${name}" was there although it had been taken away`)
    assert.equal(describedRecord(record), describedRecord(latest), 'the store decided by another record')
  }

  function ask(pending: Pending, request: ChangeRequest): Promise<Configuration | Modification | ImportPlan> {
    if ('importing' in request) return importAll(pending, request.importing, request.mode, request.size)
    if ('add' in request) return add(pending, request.add, request.size)
    if ('remove' in request) return remove(pending, request.remove)
    return modify(pending, request.modify, request.to, request.size)
  }

  function acknowledged({ decision }: Pending, done: Configuration | Modification | ImportPlan) {
    if (decision === 'nothing') return
    assert.ok(typeof decision === 'object', 'a change was acknowledged that had not been decided')
    history.acknowledge(decision)
    if ('added' in done) {
      const { length } = 'together' in decision ? decision.together : []
      assert.equal(done.added.length + done.modified.length + done.removed.length, length)
      return
    }
    const record = 'after' in done ? done.after : done
    const expected = 'add' in decision ? decision.add : 'modify' in decision ? decision.modify : undefined
    if (expected !== undefined) assert.equal(describedRecord(record), describedRecord(expected))
  }

  function refused({ decision }: Pending, error: unknown) {
    const taken = typeof decision === 'object' && history.isTaken(decision) ? decision : undefined
    const isFull = error instanceof StorageFullError
    if (isFull || error instanceof StorageUnavailableError) {
      assert.ok(disk.failures > 0, `a change was refused although the disk had not failed: ${error.message}`)
      if (taken !== undefined) history.refuse(taken, isFull ? 'full disk' : 'failed disk')
    } else if (taken !== undefined || !(error instanceof NameTakenError || error instanceof UnknownNameError))
      throw error
  }

  return {
    request(request) {
      const pending: Pending = {}
      waiting += 1
      // The handlers run before the store decides again about requests that waited for a refused change.
      ask(pending, request)
        .then(
          (done) => disk.isDead || note(() => acknowledged(pending, done)),
          (error: unknown) => disk.isDead || note(() => refused(pending, error)),
        )
        .finally(() => {
          waiting -= 1
        })
    },
    get waiting() {
      return waiting
    },
    get isWritable() {
      return store.isWritable
    },
    async close() {
      await store.close()
      await trail.close()
    },
    check() {
      if (store.isWritable) history.recover()
      if (!disk.isDead) note(() => history.checkShown(shownBy(store)))
      if (wrong.length > 0) throw wrong[0]
    },
  }
}

/**
 * Every change that is durable has a line, which says who made it.
 *
 * @param after Revision up to which lines may lack.
 * @param mayRepeat Whether some may have several.
 */
async function checkTrail(
  folder: DataPaths,
  store: ConfigurationStore,
  after: number,
  mayRepeat: boolean,
): Promise<void> {
  const listed: number[] = []
  for (const name of auditFiles) {
    const file = await ifPresent(folder.files.open(folder.file(name), 'r'))
    if (file === undefined) continue
    await forEachLine(file, (bytes) => {
      const line = parseJson(bytes.toString())
      if (!isObject(line) || !String(line.event).startsWith('configuration_')) return
      assert.equal(line.by, 'someone')
      listed.push(parseListTag(line.tag)?.revision ?? assert.fail('a change without a tag'))
    })
    await file.close()
  }
  const all = Array.from({ length: store.revision - after }, (_, i) => after + i + 1)
  const found = listed.filter((revision) => revision > after).toSorted((a, b) => a - b)
  assert.deepEqual(mayRepeat ? [...new Set(found)] : found, all)
}

/** What a store shows, by each way to read it. */
function shownBy(store: ConfigurationStore): ShownState {
  const listed = store.list(0, store.count + 1)
  const records = new Map(listed.map((record) => [record.name, plain(record)]))
  assert.equal(records.size, store.count)
  for (const name of records.keys()) assert.ok(store.find(name) !== undefined, `"${name}" is not found`)
  return { revision: store.revision, records }
}

function plain({ id, name, hostname, port, username, labels }: Configuration): StoredRecord {
  return { id, name, hostname, port, username, labels }
}
