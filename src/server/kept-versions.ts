import { callerKey, type KeptRecords, type Noted } from '../http/message.ts'
import type { Connection, Connections } from './connections.ts'
import type { IncomingRequest } from './incoming-request.ts'

/** Estimated memory of a record beyond the bytes of its JSON. */
export const KEPT_RECORD_BYTES = 100

/** The records of one revision, and the connections that read them, by caller. */
interface KeptVersion extends KeptRecords {
  /** The notes of all its answers. */
  readonly notes: Set<Noted>
  readonly readers: Map<string, Set<Connection>>
}

interface Holder {
  readonly caller: string
  /** The oldest of those that it reads, and that a change has replaced. */
  readonly version: KeptVersion
  bytes: number
}

/**
 * Limits the memory of replaced records that answers still need. Beyond the limit, the caller that makes the server keep
 * most gives way: its answers from the oldest revision are cut off first.
 */
export class KeptVersions {
  readonly #max: number
  readonly #connections: Connections
  readonly #cutOff: (connection: Connection, reason: string) => void
  readonly #versions = new Map<number, KeptVersion>()

  /** @param max In bytes. */
  constructor(
    max: number,
    connections: Connections,
    cutOff: (connection: Connection, reason: string) => void,
  ) {
    this.#max = max
    this.#connections = connections
    this.#cutOff = cutOff
  }

  /** Estimated memory of replaced records, up to the newest revision that is read. */
  get bytes(): number {
    return this.#costs().reduce((sum, { bytes }) => sum + bytes, 0)
  }

  /**
   * Counts the records that an answer keeps, until the function returned is called. Looks at the limit only here: later
   * changes make the answers that are under way keep at most the records of one more revision.
   */
  add(request: Pick<IncomingRequest, 'response' | 'principal' | 'address'>, kept: KeptRecords): () => void {
    const connection = this.#connections.of(request.response.req.socket)
    if (connection === undefined) return () => {}
    const caller = callerKey(request)
    const version = this.#versions.get(kept.revision) ?? {
      ...kept,
      notes: new Set<Noted>(),
      readers: new Map(),
    }
    const own = version.readers.get(caller) ?? new Set()
    if (kept.noted !== undefined) version.notes.add(kept.noted)
    this.#versions.set(kept.revision, version)
    version.readers.set(caller, own.add(connection))
    this.#makeRoom()
    return () => {
      own.delete(connection)
      if (own.size === 0 && version.readers.get(caller) === own) this.#remove(version, caller)
    }
  }

  #makeRoom() {
    for (let bytes = this.bytes; bytes > this.#max; bytes = this.bytes) {
      const greatest = this.#greatest()
      if (greatest === undefined) return
      const { caller, version } = greatest
      const connections = version.readers.get(caller) ?? []
      this.#remove(version, caller)
      const reason = `records that were replaced, and that slow answers still need, hold ${Math.round(bytes)} bytes; its caller needs most`
      for (const connection of connections) this.#cutOff(connection, reason)
    }
  }

  /** The caller that makes the server keep most, and the oldest version that it reads. */
  #greatest(): Holder | undefined {
    const holders = new Map<string, Holder>()
    for (const { version, bytes } of this.#costs()) {
      for (const caller of bytes === 0 ? [] : version.readers.keys()) {
        const holder = holders.get(caller) ?? { caller, version, bytes: 0 }
        holder.bytes += bytes / version.readers.size
        holders.set(caller, holder)
      }
    }
    const [greatest] = [...holders.values()].sort((a, b) => b.bytes - a.bytes)
    return greatest
  }

  /**
   * By version, oldest first: what it keeps and the next one does not. Each change may have replaced one record. What was
   * noted belongs to one version. The newest version costs nothing: the store needs its records anyway.
   */
  #costs(): { readonly version: KeptVersion; readonly bytes: number }[] {
    const versions = [...this.#versions.values()].sort((a, b) => a.revision - b.revision)
    return versions.map((version, i) => {
      const next = versions[i + 1]
      if (next === undefined) return { version, bytes: 0 }
      const changes = next.revision - version.revision
      const share = version.records === 0 ? 0 : Math.min(1, changes / version.records)
      const replaced = share * (version.jsonBytes + version.records * KEPT_RECORD_BYTES)
      return { version, bytes: replaced + notedBytesOf(version) }
    })
  }

  #remove(version: KeptVersion, caller: string) {
    version.readers.delete(caller)
    if (version.readers.size === 0 && this.#versions.get(version.revision) === version)
      this.#versions.delete(version.revision)
  }
}

function notedBytesOf({ notes }: KeptVersion): number {
  return [...notes].reduce((sum, { notedBytes }) => sum + notedBytes, 0)
}
