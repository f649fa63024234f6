import * as fc from 'fast-check'
import { treacherousNames } from './texts.ts'

/** Values of every kind of JSON. */
export const odd = fc.constantFrom<unknown>(null, 0, 1.5, '', 'x', true, [], {}, [[]], { name: 'a' })

/** A value of JSON in which a few members are of another kind, or not there. */
export function spoilt(value: fc.Arbitrary<object>, members: readonly string[]): fc.Arbitrary<unknown> {
  const changes = fc.array(
    fc.tuple(fc.constantFrom(...members, ...treacherousNames), fc.option(odd, { nil: undefined })),
    { maxLength: 2 },
  )
  return fc
    .tuple(value, changes)
    .map(([whole, some]) => JSON.parse(JSON.stringify({ ...whole, ...Object.fromEntries(some) })))
}

/** Whether an object has those members and no others. */
export function hasOnly(input: object, members: readonly string[]): boolean {
  return Object.keys(input).every((member) => members.includes(member))
}
