import { type Fault, InvalidInputError } from '../errors.ts'
import { parseForm } from '../http/url.ts'
import { eitherOf } from '../text.ts'

/** Decoded parameters of a query. */
export interface Query<Name extends string, Repeatable extends string = never> {
  /** The last one, if a parameter is given twice. */
  readonly values: Partial<Record<Name, string>>
  /** Each value of the parameters that may be repeated, in their order. */
  readonly lists: Partial<Record<Repeatable, string[]>>
  /** Callers add what they find, and then call `checkQuery`. */
  readonly faults: Fault[]
}

/**
 * Unknown and repeated parameters become faults.
 *
 * @param repeatable More parameters, which may be given any number of times.
 * @throws {InvalidInputError} for malformed encoding or UTF-8.
 */
export function parseQuery<Name extends string, Repeatable extends string = never>(
  query: string,
  names: readonly Name[],
  repeatable: readonly Repeatable[] = [],
): Query<Name, Repeatable> {
  const pairs = parseForm(query)
  if (pairs === undefined) throw new InvalidInputError('The query is not valid percent-encoded UTF-8')
  const faults: Fault[] = []
  const values: Partial<Record<Name, string>> = {}
  const lists: Partial<Record<Repeatable, string[]>> = {}
  for (const [field, value] of pairs) {
    const name = names.find((known) => known === field)
    const listed = repeatable.find((known) => known === field)
    if (listed !== undefined) {
      const list = lists[listed]
      if (list === undefined) lists[listed] = [value]
      else list.push(value)
    } else if (name === undefined) {
      const known = [...names, ...repeatable]
      const detail = known.length === 0 ? 'there are none' : eitherOf(known)
      faults.push({ field, detail: `is not a parameter here: ${detail}` })
    } else {
      if (values[name] !== undefined) faults.push({ field, detail: 'is given twice' })
      values[name] = value
    }
  }
  return { values, lists, faults }
}

/** @throws {InvalidInputError} naming every fault, if there is any. */
export function checkQuery({ faults }: Pick<Query<string>, 'faults'>): void {
  if (faults.length > 0) throw new InvalidInputError('The query is not valid', faults)
}

/** @throws {InvalidInputError} for `dry_run` where it would be ignored, and the change made. */
export function refuseDryRun(text: string): void {
  if (text === '' || parseForm(text)?.some(([name]) => name === 'dry_run') !== true) return
  const detail = 'is not for a change of one record; it is for imports, and for changes of what filters keep'
  throw new InvalidInputError('The query is not valid; nothing has changed', [{ field: 'dry_run', detail }])
}

type Chosen<Choice extends Readonly<Record<string, readonly string[]>>> = {
  readonly [Name in keyof Choice]?: Choice[Name][number]
}

/** @throws {InvalidInputError} naming every parameter that is unknown, repeated, or not one of its choices. */
export function parseChoices<const Choice extends Readonly<Record<string, readonly string[]>>>(
  text: string,
  choices: Choice,
): Chosen<Choice> {
  const query = parseQuery(text, Object.keys(choices))
  const chosen = chosenOf(query, choices)
  checkQuery(query)
  return chosen
}

/** Adds a fault for each value that is not one of its choices. */
export function chosenOf<const Choice extends Readonly<Record<string, readonly string[]>>>(
  { values, faults }: Pick<Query<string>, 'values' | 'faults'>,
  choices: Choice,
): Chosen<Choice> {
  for (const [field, value] of Object.entries(values)) {
    const allowed = choices[field] ?? []
    if (!allowed.includes(value ?? '')) faults.push({ field, detail: `must be ${eitherOf(allowed)}` })
  }
  return values as Chosen<Choice>
}
