import { HELD_LABEL_BYTES, HELD_RECORD_BYTES } from '../limits.ts'
import type { Labels } from './labels.ts'

/** Memory of the labels that new records share. */
const LABELS_SHARED_BYTES_MAX = 4 * 1024 * 1024

/** Sets of labels that were used last, by their text. */
let sets = new Map<string, Labels>()
/** Their values. */
let values = new Map<string, string>()
/** Estimated memory of both, and of what they hold. */
let bytes = 0

/**
 * The same labels with sorted keys. Records with equal labels get the same object, and others the same values: most
 * records of a store have few different ones, so each takes memory once.
 *
 * @param labels At least one; keys as `areStoredLabels` wants them.
 */
export function sharedLabels(labels: Labels): Labels {
  const keys = Object.keys(labels).sort()
  let text = ''
  // With the length, so that no value can look like the next key.
  for (const key of keys) text += `${key}=${labels[key]?.length}:${labels[key]}`
  const known = sets.get(text)
  if (known !== undefined) return known
  if (bytes > LABELS_SHARED_BYTES_MAX) forgetAll()
  const sorted: Record<string, string> = {}
  for (const key of keys) sorted[key] = sharedValue(labels[key] ?? '')
  // Its text is there as a key, and in the labels.
  bytes += HELD_RECORD_BYTES + keys.length * HELD_LABEL_BYTES + 2 * Buffer.byteLength(text)
  sets.set(text, sorted)
  return sorted
}

function sharedValue(value: string): string {
  const known = values.get(value)
  if (known !== undefined) return known
  bytes += HELD_LABEL_BYTES + Buffer.byteLength(value)
  // V8 gives a key of a Map a text of its own, so a value that was cut from a file does not keep that in memory.
  values.set(value, value)
  return value
}

/** Records keep theirs; those that come share anew. */
function forgetAll() {
  sets = new Map()
  values = new Map()
  bytes = 0
}
