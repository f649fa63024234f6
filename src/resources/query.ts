import { type Fault, InvalidInputError } from '../errors.ts'
import { parseForm } from '../http/form.ts'
import { eitherOf } from '../text.ts'

/** Decoded parameters of a query; the last one wins. */
export interface Query<Name extends string> {
  readonly values: Partial<Record<Name, string>>
  /** Callers add what they find, and then call `checkQuery`. */
  readonly faults: Fault[]
}

/** Unknown and repeated parameters become faults. @throws {InvalidInputError} for malformed encoding or UTF-8. */
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

/** @throws {InvalidInputError} naming every fault, if there is any. */
export function checkQuery({ faults }: Query<string>): void {
  if (faults.length > 0) throw new InvalidInputError('The query is not valid', faults)
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
  for (const [field, value] of Object.entries(query.values)) {
    const allowed = choices[field] ?? []
    if (!allowed.includes(value ?? '')) query.faults.push({ field, detail: `must be ${eitherOf(allowed)}` })
  }
  checkQuery(query)
  return query.values as Chosen<Choice>
}
