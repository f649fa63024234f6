import type { Access } from './access.ts'
import type { Change } from './change.ts'
import { Configuration, type ConfigurationPatch, type NewConfiguration } from './configuration.ts'
import type { Decision, Latest } from './decisions.ts'
import { NameTakenError, StaleRecordError, UnknownNameError } from './refusals.ts'

/** Whether a record is the one that the caller means to change. */
export type Expectation = (record: Configuration) => boolean

/** A record before and after a change; the same object if nothing changed. */
export interface Modification {
  readonly before: Configuration
  readonly after: Configuration
}

/** As `Modification`; `before` is undefined if the record was added. */
export interface Replacement {
  readonly before: Configuration | undefined
  readonly after: Configuration
}

/** Decides a call of `ConfigurationStore.add`. @throws Its refusals. */
export function decideAdd(
  { find, access, nextId }: Latest,
  draft: NewConfiguration,
): Decision<Configuration> {
  if (access !== undefined) access.checkChange(undefined, new Configuration(nextId, draft))
  checkFree(draft.name, find(draft.name), access)
  const add = new Configuration(nextId, draft)
  return { change: { add }, outcomeOf: (made) => recordAfter(made) }
}

/** Decides a call of `ConfigurationStore.modify`. @throws Its refusals. */
export function decideModify(
  { find, access }: Latest,
  name: string,
  patch: ConfigurationPatch,
  expected: Expectation | undefined,
): Decision<Modification> {
  const mayChange = access && ((record: Configuration) => checkPatch(record, patch, access))
  const before = getExpected(find(name), name, expected, mayChange)
  const modify = before.with(patch)
  if (modify === before) return { outcome: { before, after: before } }
  if (modify.name !== name) checkFree(modify.name, find(modify.name), access)
  return { change: { modify, name }, outcomeOf: (made) => ({ before, after: recordAfter(made) }) }
}

/** Decides a call of `ConfigurationStore.put`. @throws Its refusals. */
export function decidePut(
  { find, access, nextId }: Latest,
  draft: NewConfiguration,
  expected: ((record: Configuration | undefined) => boolean) | undefined,
): Decision<Replacement> {
  const { name } = draft
  const before = find(name)
  // Also of a record that the asker does not see: the name is not free.
  if (access?.mayChange(before, new Configuration(nextId, draft)) === false) throw access.refusal()
  if (expected !== undefined && !expected(before)) throw unexpected(name, before)
  const outcomeOf = (made: Change) => ({ before, after: recordAfter(made) })
  if (before === undefined) return { change: { add: new Configuration(nextId, draft) }, outcomeOf }
  const modify = before.replacedBy(draft)
  return modify === before ? { outcome: { before, after: before } } : { change: { modify, name }, outcomeOf }
}

/** Decides a call of `ConfigurationStore.remove`. @throws Its refusals. */
export function decideRemove(
  { find, access }: Latest,
  name: string,
  expected: Expectation | undefined,
): Decision<Configuration> {
  const mayChange = access && ((record: Configuration) => access.checkChange(record, undefined))
  const before = getExpected(find(name), name, expected, mayChange)
  return { change: { remove: name }, outcomeOf: () => before }
}

function recordAfter(change: Change): Configuration {
  if ('remove' in change) throw new Error(`"${change.remove}" was removed`)
  return 'add' in change ? change.add : change.modify
}

/** @throws {UnknownNameError} before anything else that is wrong: it must look the same for a record that is not there. */
function checkPatch(record: Configuration, patch: ConfigurationPatch, access: Access) {
  access.checkSeen(record)
  access.checkChange(record, record.with(patch))
}

/** @throws {NameTakenError} */
function checkFree(name: string, holder: Configuration | undefined, access: Access | undefined) {
  if (holder === undefined) return
  throw new NameTakenError(name, access === undefined ? holder : access.seenOf(holder))
}

/**
 * @param mayChange Throws if the asker may not change the record so, or does not see it.
 * @throws {UnknownNameError} {StaleRecordError} {NotGrantedError}
 */
function getExpected(
  record: Configuration | undefined,
  name: string,
  expected: Expectation | undefined,
  mayChange?: (record: Configuration) => void,
): Configuration {
  if (record === undefined) throw new UnknownNameError(name)
  mayChange?.(record)
  if (expected !== undefined && !expected(record)) throw new StaleRecordError(name)
  return record
}

function unexpected(name: string, record: Configuration | undefined): StaleRecordError {
  if (record !== undefined)
    return new StaleRecordError(name, `The configuration "${name}" is not the one expected; read it`)
  return new StaleRecordError(name, `There is no configuration named "${name}", but one is expected`)
}
