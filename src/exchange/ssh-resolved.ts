import { InvalidInputError } from '../errors.ts'
import { IMPORT_ROWS_MAX } from '../limits.ts'
import type { ImportedConfiguration } from '../store/configuration.ts'
import { parseRow } from './import-reader.ts'
import { type Alias, bytesOf } from './ssh-condition.ts'
import type { LocatedFault, NamedHost, SourceLocation, SshConfiguration, Value } from './ssh-configuration.ts'
import { readSshHost, type SshHostFault } from './ssh-host.ts'

/** Characters compared to find what applies to the hosts of an SSH configuration: a second or two. */
const SSH_MATCH_STEPS_MAX = 100_000_000

export interface ResolvedHost {
  readonly draft: ImportedConfiguration
  readonly location: SourceLocation
}

/**
 * What ssh makes of each literal name of a configuration: of each keyword the first value that applies.
 *
 * @param username For hosts without one.
 * @param onFault Gets each host that cannot be a record, and each value that is left out of one.
 * @param stepsMax Characters compared to find what applies.
 * @throws {InvalidInputError} if there are too many hosts, or too many patterns for them.
 */
export function resolveHosts(
  configuration: SshConfiguration,
  username: string | undefined,
  onFault: (fault: LocatedFault) => void,
  stepsMax = SSH_MATCH_STEPS_MAX,
): ResolvedHost[] {
  if (configuration.hosts.size > IMPORT_ROWS_MAX)
    throw new InvalidInputError(`It has more than ${IMPORT_ROWS_MAX} hosts; make it several files`)
  const notes = new Notes()
  const resolved: ResolvedHost[] = []
  const find = createFinder(configuration, stepsMax)
  for (const [name, named] of configuration.hosts) {
    const found = find(name, named)
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
      return keyword === 'user' ? (text ?? username) : text
    })
    const faulty = ({ field, detail }: SshHostFault) =>
      onFault({ location: found.location, name, field, detail })
    if (host.fault !== undefined) {
      const isMissing = host.fault.field === 'User' && !found.values.has('user')
      faulty(isMissing ? { ...host.fault, detail: `${host.fault.detail}; give --user NAME` } : host.fault)
      continue
    }
    const draft = parseRow({}, host.fields, host.labelsPatch, faulty)
    if (draft === undefined) continue
    for (const { field, detail } of host.labelFaults) {
      const value = found.values.get(field.toLowerCase())
      notes.add(value?.location ?? found.location, name, { field, detail })
    }
    for (const { location } of found.moreIdentities)
      notes.add(location, name, { field: 'IdentityFile', detail: 'is not the first; a record can keep one' })
    resolved.push({ draft, location: found.location })
  }
  notes.tell(onFault)
  return resolved
}

interface Found {
  /** By keyword. */
  readonly values: ReadonlyMap<string, Value>
  readonly moreIdentities: readonly Value[]
  /** The first `Host` that names it and applies. */
  readonly location: SourceLocation
}

/** Makes a function that finds what applies to a name; it gives undefined if no `Host` that names it does. */
function createFinder({ runs, general }: SshConfiguration, stepsMax: number) {
  const runsOf = Map.groupBy(runs, ({ condition }) => condition)
  let stepsLeft = stepsMax
  const spend = (steps: number) => {
    stepsLeft -= steps
    if (stepsLeft >= 0) return
    throw new InvalidInputError(
      'Its patterns and hosts are too many to compare each with each; make it several files, or use fewer patterns',
    )
  }
  return (name: string, named: readonly NamedHost[]): Found | undefined => {
    const alias: Alias = { name, bytes: bytesOf(name), spend }
    const location = named.find(({ condition }) => condition.holdsFor(alias))?.location
    if (location === undefined) return undefined
    const plain = new Set(named.map(({ condition }) => condition).filter(({ isPlain }) => isPlain))
    const applying = [...plain, ...general]
      .filter((condition) => condition.holdsFor(alias))
      .flatMap((condition) => runsOf.get(condition) ?? [])
      .sort((a, b) => a.order - b.order)
    const values = new Map<string, Value>()
    const identities = new Map<string | undefined, Value>()
    for (const run of applying) {
      spend(run.values.length)
      for (const value of run.values) {
        if (!values.has(value.keyword)) values.set(value.keyword, value)
        if (value.keyword === 'identityfile' && !identities.has(value.text)) identities.set(value.text, value)
      }
    }
    return { values, moreIdentities: [...identities.values()].slice(1), location }
  }
}

interface Note extends SshHostFault {
  readonly name: string
  readonly location: SourceLocation
  hosts: number
}

/** Values that are left out of records; one of `Host *` is reported once, not for each host. */
class Notes {
  readonly #notes = new Map<string, Note>()

  add(location: SourceLocation, name: string, { field, detail }: SshHostFault) {
    const key = `${location.order} ${detail}`
    const note = this.#notes.get(key)
    if (note === undefined) this.#notes.set(key, { location, name, field, detail, hosts: 1 })
    else note.hosts += 1
  }

  tell(onFault: (fault: LocatedFault) => void) {
    for (const { location, name, field, detail, hosts } of this.#notes.values())
      onFault(
        hosts === 1
          ? { location, name, field, detail }
          : { location, field, detail: `${detail}; so for ${hosts} hosts` },
      )
  }
}
