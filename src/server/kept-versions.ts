import { callerKey, type KeptRecords, type Noted } from '../http/message.ts'
import type { Connection, Connections } from './connections.ts'
import type { IncomingRequest } from './incoming-request.ts'

/** Estimated memory of a record beyond the bytes of its JSON. */
export const KEPT_RECORD_BYTES = 100

interface KeptAnswer {
  readonly connection: Connection
  readonly noted: Noted | undefined
}

/** The records of one revision, and the answers that read them, by caller. */
interface KeptVersion extends KeptRecords {
  readonly readers: Map<string, Set<KeptAnswer>>
}

interface VersionCost {
  readonly version: KeptVersion
  /** Of the records that it keeps, and the next version does not. */
  readonly replacedBytes: number
}

interface Holder {
  readonly caller: string
  /** The oldest of those for which it makes the server keep something. */
  readonly version: KeptVersion
  bytes: number
}

/**
 * Limits the memory of replaced records that answers still need, and of what the answers have noted. Beyond the limit, the
 * caller that makes the server keep most gives way: its answers from the oldest revision are cut off first.
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

  /** Estimated memory of notes, and of replaced records up to the newest revision that is read. */
  get bytes(): number {
    return this.#costs().reduce(
      (sum, { version, replacedBytes }) =>
        sum + replacedBytes + notedBytesOf([...version.readers.values()].flatMap((answers) => [...answers])),
      0,
    )
  }

  /**
   * Counts what an answer keeps, until the function returned is called. Looks at the limit only here: later changes make
   * the answers that are under way keep at most the records of one more revision.
   */
  add(request: Pick<IncomingRequest, 'response' | 'principal' | 'address'>, kept: KeptRecords): () => void {
    const connection = this.#connections.of(request.response.req.socket)
    if (connection === undefined) return () => {}
    const caller = callerKey(request)
    const version = this.#versions.get(kept.revision) ?? { ...kept, readers: new Map() }
    const own = version.readers.get(caller) ?? new Set()
    const answer: KeptAnswer = { connection, noted: kept.noted }
    this.#versions.set(kept.revision, version)
    version.readers.set(caller, own.add(answer))
    this.#makeRoom()
    return () => {
      own.delete(answer)
      if (own.size === 0 && version.readers.get(caller) === own) this.#remove(version, caller)
    }
  }

  #makeRoom() {
    for (let bytes = this.bytes; bytes > this.#max; bytes = this.bytes) {
      const greatest = this.#greatest()
      if (greatest === undefined) return
      const { caller, version } = greatest
      const answers = version.readers.get(caller) ?? []
      this.#remove(version, caller)
      const reason = `records that were replaced, and notes of answers, which slow answers still need, hold ${Math.round(bytes)} bytes; its caller needs most`
      for (const { connection } of answers) this.#cutOff(connection, reason)
    }
  }

  /** The caller that makes the server keep most, and the oldest version for which it does. */
  #greatest(): Holder | undefined {
    const holders = new Map<string, Holder>()
    for (const { version, replacedBytes } of this.#costs()) {
      for (const [caller, answers] of version.readers) {
        const bytes = replacedBytes / version.readers.size + notedBytesOf(answers)
        if (bytes === 0) continue
        const holder = holders.get(caller) ?? { caller, version, bytes: 0 }
        holder.bytes += bytes
        holders.set(caller, holder)
      }
    }
    const [greatest] = [...holders.values()].sort((a, b) => b.bytes - a.bytes)
    return greatest
  }

  /**
   * By version, oldest first. Each change may have replaced one record. The records of the newest version cost nothing: the
   * store needs them anyway.
   */
  #costs(): readonly VersionCost[] {
    const versions = [...this.#versions.values()].sort((a, b) => a.revision - b.revision)
    return versions.map((version, i) => {
      const next = versions[i + 1]
      if (next === undefined) return { version, replacedBytes: 0 }
      const changes = next.revision - version.revision
      const share = version.records === 0 ? 0 : Math.min(1, changes / version.records)
      return { version, replacedBytes: share * (version.jsonBytes + version.records * KEPT_RECORD_BYTES) }
    })
  }

  #remove(version: KeptVersion, caller: string) {
    version.readers.delete(caller)
    if (version.readers.size === 0 && this.#versions.get(version.revision) === version)
      this.#versions.delete(version.revision)
  }
}

/** Answers may share their notes. */
function notedBytesOf(answers: Iterable<KeptAnswer>): number {
  const notes = new Set<Noted>()
  for (const { noted } of answers) if (noted !== undefined) notes.add(noted)
  return [...notes].reduce((sum, { notedBytes }) => sum + notedBytes, 0)
}
