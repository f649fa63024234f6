import { dataFiles } from '../files/data-folder.ts'
import { printableJson } from '../json.ts'
import { LOST_CHANGES_LISTED_MAX } from '../limits.ts'
import type { RevisionRange } from '../storage/file/file-storage.ts'
import { counted } from '../text.ts'
import type { Recovery } from './recovery.ts'

/** What a recovery keeps and what it loses, one line each. */
export function describeRecovery(recovery: Recovery): string[] {
  const { records, accounts } = recovery
  const losses = describeLosses(recovery)
  return [
    `Can be kept: ${counted(records.count, 'record')}; the next id is ${records.lastId + 1}`,
    accounts === undefined
      ? 'The accounts cannot be read: there will be a new user and a new client, as after a first start'
      : `Can be kept: ${countAccounts(accounts.accounts)}`,
    ...(losses.length === 0 ? ['No change of a record is known to be lost'] : losses),
    ...describeDoubts(recovery),
    'Every session and token will end; the old files are kept aside',
  ]
}

/** "2 accounts". */
export function countAccounts({
  users,
  clients,
}: {
  users: readonly unknown[]
  clients: readonly unknown[]
}) {
  return counted(users.length + clients.length, 'account')
}

/** How many changes no file holds. */
export function countLostChanges({ salvaged, lost }: Recovery): number {
  const missing = salvaged.missing.reduce((sum, { first, last }) => sum + last - first + 1, 0)
  return missing + lost.revision - salvaged.revision
}

function describeLosses({ salvaged, lost }: Recovery): string[] {
  const { missing, unreadable, misfits, displaced, foreign, revision } = salvaged
  const losses: string[] = []
  if (missing.length > 0) losses.push(`Lost: the changes of ${describeRanges(missing)}`)
  if (unreadable === undefined) losses.push('Lost: an unknown number of records of snapshot.json')
  else if (unreadable > 0) losses.push(`Lost: ${counted(unreadable, 'record')} of snapshot.json`)
  if (misfits > 0)
    losses.push(
      `Left out: ${counted(misfits, 'change')} that cannot be read, or that no longer has its record`,
    )
  for (const { id, name } of displaced.slice(0, LOST_CHANGES_LISTED_MAX))
    losses.push(`Left out: record ${id}, because another record has its name ${printableJson(name)}`)
  losses.push(...describeMore(displaced.length))
  for (const name of foreign) losses.push(`Left out: ${name}, because it belongs to another store`)
  if (lost.revision > revision) {
    const range = describeRanges([{ first: revision + 1, last: lost.revision }])
    losses.push(`Lost: the changes of ${range}, which only the audit trail names`)
    for (const change of lost.changes)
      losses.push(`  ${change.revision}: ${change.kind} record ${change.id} ${printableJson(change.name)}`)
    losses.push(...describeMore(lost.count))
  }
  return losses
}

/** What cannot be known. */
function describeDoubts({ damaged, salvaged, lost }: Recovery): string[] {
  const { store, revision, isUnverified } = salvaged
  const doubts: string[] = []
  const isCut = damaged.some(({ name }) => name === dataFiles.journal) && lost.revision === revision
  if (isUnverified)
    doubts.push('No checksum covers the records of snapshot.json: look through them, a value may be wrong')
  if (store === undefined)
    doubts.push(
      'Unknown: whether more is lost. No file tells the id by which the audit trail names the changes',
    )
  else if (isCut) doubts.push('Unknown: whether changes at the end of journal.jsonl are lost')
  return doubts
}

/** "the revisions 3 to 5, 9". */
function describeRanges(ranges: readonly RevisionRange[]): string {
  const listed = ranges
    .slice(0, LOST_CHANGES_LISTED_MAX)
    .map(({ first, last }) => (first === last ? `${first}` : `${first} to ${last}`))
  const [only] = ranges
  const noun = ranges.length === 1 && only?.first === only?.last ? 'revision' : 'the revisions'
  const more = ranges.length - listed.length
  return `${noun} ${listed.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

function describeMore(count: number): string[] {
  const more = count - LOST_CHANGES_LISTED_MAX
  return more > 0 ? [`  and ${more} more`] : []
}
