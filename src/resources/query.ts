import { type Fault, InvalidInputError } from '../errors.ts'
import { parseForm } from '../http/form.ts'
import { eitherOf } from '../text.ts'

/** The parameters of a query, decoded; of one that is given twice the last. */
export interface Query<Name extends string> {
  readonly values: Partial<Record<Name, string>>
  /** What is wrong so far; who finds more adds it. */
  readonly faults: Fault[]
}

/**
 * Takes a query apart; unknown parameters and those given twice are faults.
 *
 * @throws {InvalidInputError} if it is no percent-encoded UTF-8.
 */
export function parseQuery<Name extends string>(query: string, names: readonly Name[]): Query<Name> {
  const pairs = parseForm(query)
  if (pairs === undefined) throw new InvalidInputError('The query is not valid percent-encoded UTF-8')
  const faults: Fault[] = []
  const values: Partial<Record<Name, string>> = {}
  for (const [field, value] of pairs) {
    const name = names.find((known) => known === field)
    if (name === undefined) faults.push({ field, detail: `is not a parameter here: ${eitherOf(names)}` })
    else {
      if (values[name] !== undefined) faults.push({ field, detail: 'is given twice' })
      values[name] = value
    }
  }
  return { values, faults }
}

/** @throws {InvalidInputError} that names every fault, if there is one. */
export function checkQuery({ faults }: Query<string>): void {
  if (faults.length > 0) throw new InvalidInputError('The query is not valid', faults)
}

/** For each parameter that was given, one of its values. */
type Chosen<Choice extends Readonly<Record<string, readonly string[]>>> = {
  readonly [Name in keyof Choice]?: Choice[Name][number]
}

/**
 * Reads a query whose parameters each take one of a few values.
 *
 * @param choices The values of each parameter.
 * @throws {InvalidInputError} that names every parameter at fault: unknown, given twice, or with another value.
 */
export function parseChoices<const Choice extends Readonly<Record<string, readonly string[]>>>(
  text: string,
  choices: Choice,
): Chosen<Choice> {
  const query = parseQuery(text, Object.keys(choices))
  for (const [field, value] of Object.entries(query.values)) {
    const allowed = choices[field] ?? []
    if (!allowed.includes(value ?? '')) query.faults.push({ field, detail: `must be ${eitherOf(allowed)}` })
  }
  checkQuery(query)
  return query.values as Chosen<Choice>
}
