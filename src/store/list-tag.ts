const STORE_CHARACTERS = 8
/** Leaves room above for further changes, however damaged a line is. */
const DIGITS_MAX = 12

/** The tag of all records at a revision; the list's ETag, and what the audit trail has for each change. */
export function listTag(store: string, revision: number): string {
  return `${storeOfTag(store)}-${revision}`
}

/** The part of a tag that stands for the store. */
export function storeOfTag(store: string): string {
  return store.slice(0, STORE_CHARACTERS)
}

/** Reads a tag; undefined for anything else. */
export function parseListTag(
  tag: unknown,
): { readonly store: string; readonly revision: number } | undefined {
  const [, store, digits] = (typeof tag === 'string' && /^([0-9a-z]+)-(\d+)$/.exec(tag)) || []
  if (store === undefined || digits === undefined || digits.length > DIGITS_MAX) return undefined
  return { store, revision: Number(digits) }
}
