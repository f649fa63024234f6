import { InvalidInputError } from '../errors.ts'
import { IMPORT_ROWS_MAX } from '../limits.ts'
import { type LongWork, runAtOnce } from '../scheduler.ts'
import type { ImportedConfiguration } from '../store/configuration.ts'
import { countLabels, type LabelsPatch } from '../store/labels.ts'
import { inSteps, sortInSlices } from '../store/slices.ts'
import { parseRow } from './parsed-row.ts'
import { type Alias, bytesOf, type Condition } from './ssh-condition.ts'
import type {
  LocatedFault,
  NamedHost,
  Run,
  SourceLocation,
  SshConfiguration,
  Value,
} from './ssh-configuration.ts'
import { isForward } from './ssh-forward.ts'
import { expandHostname, readSshHost, type SshHostFault } from './ssh-host.ts'

/** Characters compared to find what applies to the hosts of an SSH configuration: a second or two. */
const SSH_MATCH_STEPS_MAX = 100_000_000
const SECOND_KEY = 'IdentityFile was left out where it is not the first: a record keeps one'

export interface ResolvedHost {
  readonly draft: ImportedConfiguration
  readonly location: SourceLocation
  /** Whether the configuration has a username for it. */
  readonly hasUser: boolean
}

/** How the hosts of a configuration are resolved. */
export interface HostDefaults {
  /** For hosts without one. */
  readonly username?: string | undefined
  /** How the caller gives it, for remedies: `--user NAME`. */
  readonly remedy: string
  /** Whether what cannot be kept is left out; then hosts that need it are named. */
  readonly isSkipping?: boolean | undefined
}

/**
 * What ssh makes of each literal name of a configuration: of each keyword the first value that applies.
 *
 * @param onFault Gets each host that cannot be a record, and each value that is left out of one.
 * @param stepsMax Characters compared to find what applies.
 * @throws {InvalidInputError} if there are too many hosts, or too many patterns for them.
 */
export function resolveHosts(
  configuration: SshConfiguration,
  defaults: HostDefaults,
  onFault: (fault: LocatedFault) => void,
  stepsMax = SSH_MATCH_STEPS_MAX,
): ResolvedHost[] {
  return runAtOnce(resolveHostsInSlices(configuration, defaults, onFault, stepsMax))
}

/** As `resolveHosts`, as long work. */
export function* resolveHostsInSlices(
  configuration: SshConfiguration,
  { username, remedy, isSkipping = false }: HostDefaults,
  onFault: (fault: LocatedFault) => void,
  stepsMax = SSH_MATCH_STEPS_MAX,
): LongWork<ResolvedHost[]> {
  if (configuration.hosts.size > IMPORT_ROWS_MAX)
    throw new InvalidInputError(`It has more than ${IMPORT_ROWS_MAX} hosts; make it several files`)
  const notes = new LeftOutNotes()
  const furtherKeys = new Set<Value>()
  const resolved: ResolvedHost[] = []
  const find = createFinder(configuration, yield* runsByCondition(configuration.runs), stepsMax)
  let labelsPatch: LabelsPatch = {}
  for (const [name, named] of configuration.hosts) {
    yield
    const found = yield* find(name, named)
    const [first] = named
    if (first === undefined) continue
    if (found === undefined) {
      const detail =
        'never applies to this name: a pattern with "!", or the Host around its Include, is against it'
      onFault({ location: first.location, name, field: 'Host', detail })
      continue
    }
    const host = readSshHost(name, (keyword) => {
      const text = found.values.get(keyword)?.text
      if (isForward(keyword)) return found.forwards.get(keyword)?.join(',')
      return keyword === 'user' ? (text ?? username) : text
    })
    const faulty = ({ field, detail }: SshHostFault) => {
      const location = found.values.get(keywordOf(field))?.location ?? found.location
      onFault({ location, name, field, detail })
    }
    if (host.fault !== undefined) {
      const isMissing = host.fault.field === 'User' && !found.values.has('user')
      faulty(isMissing ? { ...host.fault, detail: `${host.fault.detail}; give ${remedy}` } : host.fault)
      continue
    }
    for (const { field, detail } of host.labelFaults) {
      const value = found.values.get(field.toLowerCase())
      notes.add(value?.location ?? found.location, name, { field, detail })
    }
    // Most hosts say the same of their labels: one object for all keeps the memory small.
    if (!areSame(labelsPatch, host.labelsPatch)) labelsPatch = host.labelsPatch
    const draft = parseRow({}, host.fields, labelsPatch, faulty)
    if (draft === undefined) continue
    for (const value of found.moreIdentities) {
      if (!furtherKeys.has(value)) configuration.leaveOut(value.location, SECOND_KEY)
      furtherKeys.add(value)
    }
    const lost = lostWay(found.values, host.labelFaults)
    if (lost === undefined)
      resolved.push({ draft, location: found.location, hasUser: found.values.has('user') })
    else if (isSkipping) {
      const detail = `cannot be reached without its ${lost}`
      onFault({ location: found.location, name, field: 'Host', detail })
    }
  }
  notes.tell(onFault)
  return resolved
}

/** The keyword that says the way to a host, if that is not kept: without it ssh would connect directly. */
function lostWay(
  values: ReadonlyMap<string, Value>,
  labelFaults: readonly SshHostFault[],
): string | undefined {
  const way = values.get('proxyjump')
  if (way !== undefined && way.text === undefined) return 'ProxyCommand'
  return labelFaults.find(({ field }) => field === 'ProxyJump')?.field
}

interface FoundValues {
  /** By keyword. */
  readonly values: ReadonlyMap<string, Value>
  readonly moreIdentities: readonly Value[]
  /** All values of keywords for which `isForward` is true. */
  readonly forwards: ReadonlyMap<string, string[]>
  /** The first `Host` that names it and applies. */
  readonly location: SourceLocation
}

function* runsByCondition(runs: readonly Run[]): LongWork<ReadonlyMap<Condition, readonly Run[]>> {
  const found = new Map<Condition, Run[]>()
  yield* inSteps(runs, (run) => {
    const others = found.get(run.condition)
    if (others === undefined) found.set(run.condition, [run])
    else others.push(run)
  })
  return found
}

/** Makes a function that finds what applies to a name; it gives undefined if no `Host` that names it does. */
function createFinder(
  { general }: SshConfiguration,
  runsOf: ReadonlyMap<Condition, readonly Run[]>,
  stepsMax: number,
) {
  let stepsLeft = stepsMax
  const spend = (steps: number) => {
    stepsLeft -= steps
    if (stepsLeft >= 0) return
    throw new InvalidInputError(
      'Its patterns and hosts are too many to compare each with each; make it several files, or use fewer patterns',
    )
  }
  return function* find(name: string, named: readonly NamedHost[]): LongWork<FoundValues | undefined> {
    const found = new Collected(name)
    const alias: Alias = { name, bytes: bytesOf(name), spend, hostnameAt: found.hostnameAt }
    const applying: Run[] = []
    const plain = new Set(named.map(({ condition }) => condition).filter(({ isPlain }) => isPlain))
    for (const conditions of [plain, general])
      yield* inSteps(conditions, (condition) => {
        // What depends on the HostName is looked at once that is known.
        if (!condition.isDependent && !condition.holdsFor(alias)) return
        for (const run of runsOf.get(condition) ?? []) applying.push(run)
      })
    const inOrder = (one: Run, other: Run) => one.order - other.order
    yield* inSteps(yield* sortInSlices(applying, inOrder), (run) => {
      spend(run.values.length)
      if (!run.condition.isDependent || run.condition.holdsFor(alias)) found.take(run)
    })
    const location = named.find(({ condition }) => condition.holdsFor(alias))?.location
    return location === undefined ? undefined : { ...found.result, location }
  }
}

/** What applies to a name, as it is found line by line. */
class Collected {
  readonly #name: string
  readonly #values = new Map<string, Value>()
  readonly #identities = new Map<string | undefined, Value>()
  readonly #forwards = new Map<string, string[]>()
  /** The HostName that counts, and the run that has it. */
  #hostname: { readonly bytes: string; readonly order: number } | undefined

  constructor(name: string) {
    this.#name = name
  }

  get result() {
    const moreIdentities = [...this.#identities.values()].slice(1)
    return { values: this.#values, forwards: this.#forwards, moreIdentities }
  }

  readonly hostnameAt = (position: number): string =>
    this.#hostname !== undefined && this.#hostname.order < position
      ? this.#hostname.bytes
      : bytesOf(this.#name)

  take({ values, order }: Run): void {
    for (const value of values) {
      const { keyword, text } = value
      if (keyword === 'identityfile' && !this.#identities.has(text)) this.#identities.set(text, value)
      if (isForward(keyword) && text !== undefined) {
        const known = this.#forwards.get(keyword)
        if (known === undefined) this.#forwards.set(keyword, [text])
        else known.push(text)
      }
      if (this.#values.has(keyword)) continue
      this.#values.set(keyword, value)
      if (keyword === 'hostname' && text !== undefined)
        this.#hostname = { bytes: bytesOf(expandHostname(text, this.#name) ?? text), order }
    }
  }
}

function areSame(one: LabelsPatch, other: LabelsPatch): boolean {
  for (const key in other) if (one[key] !== other[key]) return false
  return countLabels(one) === countLabels(other)
}

/** The keyword that a field or a label of a record comes from, in small letters. */
function keywordOf(field: string): string {
  return field === 'username' ? 'user' : field.replace(/^labels\.ssh\./, '').toLowerCase()
}

interface Note extends SshHostFault {
  readonly name: string
  readonly location: SourceLocation
  hosts: number
}

/** Values that are left out of records; one of `Host *` is reported once, not for each host. */
class LeftOutNotes {
  readonly #notes = new Map<string, Note>()

  add(location: SourceLocation, name: string, { field, detail }: SshHostFault) {
    const key = `${location.order} ${detail}`
    const note = this.#notes.get(key)
    if (note === undefined) this.#notes.set(key, { location, name, field, detail, hosts: 1 })
    else note.hosts += 1
  }

  tell(onFault: (fault: LocatedFault) => void) {
    for (const { location, name, field, detail, hosts } of this.#notes.values())
      onFault(hosts === 1 ? { location, name, field, detail } : { location, hosts, field, detail })
  }
}
