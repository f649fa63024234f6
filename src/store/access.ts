import { hash } from 'node:crypto'
import { type Fault, NotGrantedError } from '../errors.ts'
import type { Limited } from './authorship.ts'
import type { Configuration } from './configuration.ts'
import { describeGranted, type Grant, readGrant } from './grants.ts'
import { storeOfTag } from './list-tag.ts'
import type { RecordChange } from './recent-changes.ts'
import { anyMatcherOf, type Filter, type Matcher, matcherOf } from './record-filter.ts'
import { UnknownNameError } from './refusals.ts'

/** What an account with grants may see and change. Every answer to it, and every change by it, is decided by this. */
export class Access {
  /** Equal for those that allow the same, and short: grants may be long. */
  readonly key: string
  /** Whether a record is there at all for the account. */
  readonly sees: Matcher
  readonly #grants: readonly string[]
  readonly #mayWrite: Matcher
  readonly #writes: readonly Grant[]
  /** One of them keeps a record that is seen; none if all are seen. */
  readonly #seen: readonly Filter[]
  #store = { of: '', is: '' }

  /** @param grants As `parseGrants` returns them. @throws {Error} for another form. */
  constructor(grants: readonly string[]) {
    this.#grants = grants
    this.key = hash('sha256', grants.join(' '), 'base64url')
    const all = grants.map((text) => {
      const grant = readGrant(text)
      if (typeof grant === 'string') throw new Error(`The grant "${text}" ${grant}`)
      return grant
    })
    this.#writes = all.filter(({ right }) => right === 'write')
    const filters = new Map(all.map(({ filter }) => [JSON.stringify(filter), filter]))
    this.#seen = filters.has('{}') ? [] : [...filters.values()]
    this.sees = this.#seen.length === 0 ? () => true : anyMatcherOf(this.#seen.map(matcherOf))
    this.#mayWrite = anyMatcherOf(this.#writes.map(({ filter }) => matcherOf(filter)))
  }

  /**
   * Whether a record may become another one.
   *
   * @param before Undefined for a record that is added.
   * @param after Undefined for one that is removed.
   */
  mayChange(before: Configuration | undefined, after: Configuration | undefined): boolean {
    return (before === undefined || this.#mayWrite(before)) && (after === undefined || this.#mayWrite(after))
  }

  /** Whether a record may be removed, and is seen. */
  mayRemove(record: Configuration): boolean {
    return this.#mayWrite(record)
  }

  /** The record, if it is there for the account. */
  seenOf(record: Configuration | undefined): Configuration | undefined {
    return record !== undefined && this.sees(record) ? record : undefined
  }

  /** A change as the account sees it; undefined if it sees nothing of it. */
  seenChangeOf<Change extends Pick<RecordChange, 'before' | 'after'>>(change: Change): Change | undefined {
    const [before, after] = [this.seenOf(change.before), this.seenOf(change.after)]
    if (before === change.before && after === change.after) return change
    return before === undefined && after === undefined ? undefined : { ...change, before, after }
  }

  /** @throws {UnknownNameError} if the account does not see the record. */
  checkSeen(record: Configuration): void {
    if (!this.sees(record)) throw new UnknownNameError(record.name)
  }

  /**
   * Judges a change of one record.
   *
   * @throws {UnknownNameError} if the account does not see the record. {NotGrantedError} if it may not change it so.
   */
  checkChange(before: Configuration | undefined, after: Configuration | undefined): void {
    if (before !== undefined) this.checkSeen(before)
    if (!this.mayChange(before, after)) throw this.refusal()
  }

  /** @param faults Names of a change of many records. */
  refusal(faults: readonly Fault[] = []): NotGrantedError {
    const granted = this.#writes.map(describeGranted)
    const what = granted.length === 0 ? 'may change no records' : `may change only ${granted.join(', or ')}`
    return new NotGrantedError(`This account ${what}; nothing has changed`, faults)
  }

  /** What a filter keeps of the records that the account sees; undefined for all records. */
  limit(filter: Filter | undefined): Filter | undefined {
    const [only, ...others] = this.#seen
    if (only === undefined) return filter
    if (others.length > 0 || only.labels !== undefined) return { ...filter, anyOf: this.#seen }
    // Two prefixes are one, or keep nothing: so a list by name is a stretch of it.
    const { prefix: granted = '' } = only
    const { prefix: asked = '' } = filter ?? {}
    if (asked.startsWith(granted)) return filter
    return granted.startsWith(asked) ? { ...filter, prefix: granted } : { ...filter, anyOf: this.#seen }
  }

  /** Stands for the store in tags and ids of events, so that those of other grants fit nothing. */
  storeOf(store: string): string {
    if (this.#store.of !== store) {
      this.#store = { of: store, is: storeOfTag(hash('sha256', `${store} ${this.#grants.join(' ')}`, 'hex')) }
    }
    return this.#store.is
  }
}

const known = new WeakMap<readonly string[], Access>()

/** What somebody may see and change; undefined for all records. */
export function accessOf(who: Limited | undefined): Access | undefined {
  const grants = who?.principal?.grants
  if (grants === undefined) return undefined
  let access = known.get(grants)
  if (access === undefined) {
    access = new Access(grants)
    known.set(grants, access)
  }
  return access
}
