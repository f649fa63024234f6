import type { History, MarkedRecord, Operation, Outcome, Read } from './history.ts'
import { type Effect, Replay } from './replay.ts'

/** Statuses of refusals that mean that a change is certainly not done; 0 stands for a refused connection. */
const REFUSALS = [0, 404, 409, 503, 507]

/** Revisions between which, both included, an operation was decided, as far as others show. */
interface Window {
  readonly low: number
  readonly high: number
}

/**
 * Says what is wrong with a history; nothing, if it is one that connbook promises:
 * every acknowledged change is in etcd once, a refused one never, one without an answer at most once; nothing else is
 * there; ids are unique and rise; what was acknowledged before another change was asked for comes before it; refusals were
 * true at some moment between question and answer; lists show one state, and not an older one than promised.
 */
export function findFaults(history: History): string[] {
  const { operations, reads, steps, ends } = history
  const replay = new Replay(steps)
  const faults = [...replay.faults]
  const { revisions, faults: unmatched } = matchMarks(operations, replay.effects)
  faults.push(...unmatched)
  const windows = new Windows(operations, revisions)

  for (const operation of operations) {
    const { outcome } = operation
    const window = windows.of(operation)
    const revision = revisions.get(operation)
    if (revision !== undefined && revision <= window.low)
      faults.push(
        `${tell(operation)} is at ${revision}, but what was acknowledged before it at ${window.low}`,
      )
    if (outcome.kind !== 'refused') continue
    if (!REFUSALS.includes(outcome.status)) faults.push(`${tell(operation)} was answered ${outcome.status}`)
    else if (!isTrueRefusal(operation, outcome, window, replay))
      faults.push(`${tell(operation)} was refused with ${outcome.status} without a reason`)
  }
  faults.push(...matchRemovals(operations, replay.effects, windows))
  faults.push(...checkReads(history, reads, windows))
  for (const { where, records } of ends)
    if (show(records) !== show(replay.records.values()))
      faults.push(`${where} ends with ${show(records)}, not with ${show(replay.records.values())}`)
  return faults
}

/** Finds what each operation has done by its mark. */
function matchMarks(operations: readonly Operation[], effects: readonly Effect[]) {
  const faults: string[] = []
  const revisions = new Map<Operation, number>()
  const byMark = new Map<string, Operation>()
  for (const operation of operations)
    if (operation.intent.kind !== 'remove') byMark.set(operation.intent.mark, operation)
  for (const effect of effects) {
    if (effect.kind === 'remove') continue
    const { record, revision } = effect
    const operation = byMark.get(record.mark)
    if (operation === undefined) {
      faults.push(`nobody asked for ${JSON.stringify(record)} at revision ${revision}`)
      continue
    }
    if (revisions.has(operation))
      faults.push(`${tell(operation)} is done twice, at ${revisions.get(operation)} and ${revision}`)
    else revisions.set(operation, revision)
    if (!isMeant(operation, effect)) faults.push(`${tell(operation)} has done ${JSON.stringify(effect)}`)
    const { outcome } = operation
    if (outcome.kind === 'refused') faults.push(`${tell(operation)} was refused, and is done at ${revision}`)
    if (outcome.kind === 'ok' && outcome.id !== undefined && outcome.id !== record.id)
      faults.push(`${tell(operation)} was told the id ${outcome.id}, and has ${record.id}`)
  }
  for (const operation of byMark.values())
    if (operation.outcome.kind === 'ok' && !revisions.has(operation))
      faults.push(`${tell(operation)} was acknowledged, and is lost`)
  return { revisions, faults }
}

function isMeant({ intent }: Operation, effect: Effect): boolean {
  if (effect.kind === 'remove' || intent.kind !== effect.kind) return false
  if (intent.kind === 'rename')
    return effect.kind === 'rename' && effect.from === intent.name && effect.record.name === intent.newName
  return effect.record.name === intent.name
}

/** Tells from the marked operations what must have come before and after a moment. */
class Windows {
  readonly #known: readonly (readonly [Operation, number])[]

  constructor(operations: readonly Operation[], revisions: ReadonlyMap<Operation, number>) {
    this.#known = operations.flatMap((operation) => {
      const revision = revisions.get(operation)
      return revision === undefined ? [] : [[operation, revision] as const]
    })
  }

  /** The highest revision that was acknowledged before a moment, by one node if given. */
  acknowledged(moment: number, node?: string): number {
    let highest = 0
    for (const [{ respondedAt, outcome, node: by }, revision] of this.#known)
      if (outcome.kind === 'ok' && respondedAt < moment && (node === undefined || by === node))
        highest = Math.max(highest, revision)
    return highest
  }

  of({ invokedAt, respondedAt, outcome }: Operation): Window {
    let high = Number.POSITIVE_INFINITY
    // Without an answer it may be decided at any time.
    if (outcome.kind !== 'unknown')
      for (const [other, revision] of this.#known)
        if (other.invokedAt > respondedAt) high = Math.min(high, revision - 1)
    return { low: this.acknowledged(invokedAt), high }
  }
}

function isTrueRefusal(
  { intent }: Operation,
  { status }: Extract<Outcome, { kind: 'refused' }>,
  { low, high }: Window,
  replay: Replay,
): boolean {
  if (status === 404) return intent.kind !== 'add' && replay.wasEver(intent.name, false, low, high)
  if (status !== 409) return true
  if (intent.kind === 'add') return replay.wasEver(intent.name, true, low, high)
  return intent.kind === 'rename' && replay.wasEver(intent.newName, true, low, high)
}

/**
 * Each removal in etcd must be of a different operation, and each acknowledged operation must have one. If both can be had
 * on their own, both can be had together (Mendelsohn and Dulmage).
 */
function matchRemovals(
  operations: readonly Operation[],
  effects: readonly Effect[],
  windows: Windows,
): string[] {
  const faults: string[] = []
  const asked = operations.filter(
    ({ intent, outcome }) => intent.kind === 'remove' && outcome.kind !== 'refused',
  )
  const removals = effects.filter((effect) => effect.kind === 'remove')
  const names = new Set([...asked.map(({ intent }) => intent.name), ...removals.map(({ name }) => name)])
  for (const name of names) {
    const revisions = removals.filter((removal) => removal.name === name).map(({ revision }) => revision)
    const ofName = asked.filter(({ intent }) => intent.name === name)
    const all = ofName.map((operation) => windows.of(operation))
    const isOk = ofName.map(({ outcome }) => outcome.kind === 'ok')
    const acknowledged = all.filter((_, i) => isOk[i])
    const withoutReason = revisions.length - countPairs(revisions, all)
    if (withoutReason > 0) faults.push(`${withoutReason} removals of "${name}" were asked for by nobody`)
    const lost = acknowledged.length - countPairs(revisions, acknowledged)
    if (lost > 0) faults.push(`${lost} removals of "${name}" were acknowledged, and are lost`)
  }
  return faults
}

/** How many revisions can each have a window of their own; the one that ends first is taken first. */
function countPairs(revisions: readonly number[], windows: readonly Window[]): number {
  const left = new Set(windows)
  let pairs = 0
  for (const revision of revisions) {
    const fitting = [...left].filter(({ low, high }) => low < revision && revision <= high)
    const [first] = fitting.sort((a, b) => a.high - b.high)
    if (first === undefined) continue
    left.delete(first)
    pairs += 1
  }
  return pairs
}

/** A list shows the records of its revision, which is as new as was promised. */
function checkReads({ steps }: History, reads: readonly Read[], windows: Windows): string[] {
  const faults: string[] = []
  const waiting = reads.toSorted((a, b) => a.revision - b.revision)
  let place = 0
  let shown = show([])
  const checkUpTo = (revision: number) => {
    for (; (waiting[place]?.revision ?? revision) < revision; place++) {
      const read = waiting[place] as Read
      const found = show(read.records)
      if (found !== shown) faults.push(`${tellRead(read)} shows ${found}, not ${shown}`)
    }
  }
  new Replay(steps, (revision, records) => {
    checkUpTo(revision)
    shown = show(records.values())
  })
  checkUpTo(Number.POSITIVE_INFINITY)
  faults.push(...checkOrder(reads))
  for (const read of reads) {
    const least = windows.acknowledged(read.invokedAt, read.isFresh ? undefined : read.node)
    if (read.revision < least) faults.push(`${tellRead(read)} is older than ${least}, which was acknowledged`)
  }
  return faults
}

/** No node goes back. */
function checkOrder(reads: readonly Read[]): string[] {
  const faults: string[] = []
  for (const node of new Set(reads.map((read) => read.node))) {
    const answered = reads.filter((read) => read.node === node).sort((a, b) => a.respondedAt - b.respondedAt)
    let [place, highest] = [0, 0]
    for (const read of answered.toSorted((a, b) => a.invokedAt - b.invokedAt)) {
      for (; (answered[place]?.respondedAt ?? read.invokedAt) < read.invokedAt; place++)
        highest = Math.max(highest, answered[place]?.revision ?? 0)
      if (read.revision < highest) faults.push(`${tellRead(read)} comes after one at ${highest}`)
    }
  }
  return faults
}

function show(records: Iterable<MarkedRecord>): string {
  return [...records]
    .map(({ id, name, mark }) => `${id} ${name} ${mark}`)
    .sort()
    .join(', ')
}

function tell({ client, node, intent, invokedAt, respondedAt, outcome }: Operation): string {
  const times = `${invokedAt.toFixed()} to ${respondedAt.toFixed()}`
  return `${JSON.stringify(intent)} of ${client} at ${node} (${times}, ${JSON.stringify(outcome)})`
}

function tellRead({ node, isFresh, revision, invokedAt, respondedAt }: Read): string {
  const times = `${invokedAt.toFixed()} to ${respondedAt.toFixed()}`
  return `the ${isFresh ? 'fresh ' : ''}list of ${node} at revision ${revision} (${times})`
}
