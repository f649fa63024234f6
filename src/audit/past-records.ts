import { isObject } from '../json.ts'
import { HELD_LABEL_BYTES, HELD_RECORD_BYTES } from '../limits.ts'
import { parseStoredRecord } from '../store/change.ts'
import type { Configuration, ConfigurationPatch } from '../store/configuration.ts'
import { recordFields } from '../store/fields.ts'
import type { TrailLine } from './trail-lines.ts'

/** Memory of the records as they were, beside those that are as they are now. */
export const PAST_RECORDS_BYTES_MAX = 32 * 1024 * 1024

const LABEL_START = 'labels.'

/** A change of a record, as far as the trail and the records show it. */
export interface PastChange {
  /** Undefined for a record that was added, or if nothing says what it was. */
  readonly before: Configuration | undefined
  /** Undefined for a record that was deleted, or if nothing says what it became. */
  readonly after: Configuration | undefined
  /** False where a change after it is missing, so that the records may have been otherwise. */
  readonly isCertain: boolean
}

const UNKNOWN: PastChange = { before: undefined, after: undefined, isCertain: false }

interface KnownRecord {
  readonly record: Configuration
  /** How many gaps there were when it became known. */
  readonly gaps: number
  /** Estimated. */
  readonly bytes: number
}

/** For a record that changed otherwise than the trail lists. */
const NEVER = -1

/**
 * Whole records as they were before and after each change. The trail has only what a modification changed, so the changes are
 * undone one after the other, from the records as they are now.
 */
export class PastRecords {
  readonly #find: (id: number) => Configuration | undefined
  readonly #bytesMax: number
  readonly #known = new Map<number, KnownRecord>()
  #bytes = 0
  #gaps = 0

  /** @param find The record with an id, after the last change that is undone. */
  constructor(find: (id: number) => Configuration | undefined, bytesMax = PAST_RECORDS_BYTES_MAX) {
    this.#find = find
    this.#bytesMax = bytesMax
  }

  /** Whether nothing is missing so far. */
  get isWhole(): boolean {
    return this.#gaps === 0
  }

  /** Changes are missing between those undone so far and the next ones. */
  addGap(): void {
    this.#gaps += 1
  }

  /** Undoes the change of a line. Call it for each, the newest first. */
  undo(line: TrailLine, id: number): PastChange {
    if (line.event === 'configuration_modified') return this.#undoModification(line, id)
    const record = recordOf(line.record)
    if (line.event === 'configuration_added') {
      this.#forget(id)
      return { before: undefined, after: record, isCertain: record !== undefined }
    }
    if (record !== undefined) this.#keep(record)
    return { before: record, after: undefined, isCertain: record !== undefined }
  }

  #undoModification({ changed }: TrailLine, id: number): PastChange {
    const known = this.#known.get(id)
    const present = known === undefined ? this.#find(id) : known.record
    if (present === undefined) return UNKNOWN
    const after = isObject(changed) ? changedTo(present, changed, 'after') : undefined
    const before = after && isObject(changed) ? recordBefore(after, changed) : undefined
    if (after === undefined || before === undefined) {
      // Nor can it be certain what it was before that.
      this.#keep(present, NEVER)
      return UNKNOWN
    }
    const gaps = after === present ? (known?.gaps ?? 0) : NEVER
    this.#keep(before, gaps)
    return { before, after, isCertain: gaps === this.#gaps }
  }

  #keep(record: Configuration, gaps = this.#gaps) {
    this.#forget(record.id)
    const bytes = estimateBytes(record)
    this.#bytes += bytes
    this.#known.set(record.id, { record, gaps, bytes })
    if (this.#bytes <= this.#bytesMax) return
    this.#known.clear()
    this.#bytes = 0
    this.addGap()
  }

  #forget(id: number) {
    const known = this.#known.get(id)
    if (known === undefined) return
    this.#bytes -= known.bytes
    this.#known.delete(id)
  }
}

/** As a list holds it, without its JSON, which would take long to make for each. */
function estimateBytes({ name, hostname, username, labels = {} }: Configuration): number {
  let bytes = HELD_RECORD_BYTES + name.length + hostname.length + username.length
  for (const key in labels) bytes += HELD_LABEL_BYTES + key.length + (labels[key]?.length ?? 0)
  return bytes
}

function recordOf(input: unknown): Configuration | undefined {
  try {
    return parseStoredRecord(input)
  } catch {
    // A newer connbook has written it.
    return undefined
  }
}

/**
 * The record as it was before a modification.
 *
 * @param changed As a history has it.
 * @returns Undefined if that is not readable.
 */
export function recordBefore(
  record: Configuration,
  changed: Readonly<Record<string, unknown>>,
): Configuration | undefined {
  return changedTo(record, changed, 'before')
}

/** The record with one side of what a line says that changed; undefined if that is not readable. */
function changedTo(
  record: Configuration,
  changed: Readonly<Record<string, unknown>>,
  side: 'before' | 'after',
): Configuration | undefined {
  const patch: Record<string, unknown> = {}
  const labels: Record<string, unknown> = {}
  for (const [key, both] of Object.entries(changed)) {
    const value = isObject(both) ? both[side] : undefined
    if (key.startsWith(LABEL_START)) {
      if (value !== null && typeof value !== 'string') return undefined
      labels[key.slice(LABEL_START.length)] = value
      continue
    }
    const field = recordFields.find(({ name }) => name === key)
    if (field === undefined || !(field.isStored(value) || (value === null && !field.isRequired)))
      return undefined
    patch[key] = value
  }
  if (Object.keys(labels).length > 0) patch.labelsPatch = labels
  try {
    return record.with(patch as ConfigurationPatch)
  } catch {
    // Too many labels: they cannot have been so.
    return undefined
  }
}
