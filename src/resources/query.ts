import { type Fault, InvalidInputError } from '../errors.ts'
import { parseForm } from '../http/form.ts'

/**
 * Reads a query whose parameters each take one of a few values.
 *
 * @param choices The values of each parameter.
 * @throws {InvalidInputError} that names every parameter at fault: unknown, given twice, or with another value.
 */
export function parseChoices<Name extends string>(
  query: string,
  choices: Readonly<Record<Name, readonly string[]>>,
): Partial<Record<Name, string>> {
  const pairs = parseForm(query)
  if (pairs === undefined) throw new InvalidInputError('The query is not valid percent-encoded UTF-8')
  const faults: Fault[] = []
  const values = new Map<string, string>()
  for (const [field, value] of pairs) {
    const allowed = Object.hasOwn(choices, field) ? choices[field as Name] : undefined
    if (allowed === undefined) {
      faults.push({ field, detail: `is not a parameter here: ${Object.keys(choices).join(', ')}` })
    } else if (values.has(field)) faults.push({ field, detail: 'is given twice' })
    else if (!allowed.includes(value)) faults.push({ field, detail: `must be ${allowed.join(' or ')}` })
    values.set(field, value)
  }
  if (faults.length > 0) throw new InvalidInputError('The query is not valid', faults)
  return Object.fromEntries(values) as Partial<Record<Name, string>>
}
