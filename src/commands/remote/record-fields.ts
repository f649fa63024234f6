import type { CommandInput } from '../../command-line/command.ts'
import { UsageError } from '../../errors.ts'
import { parseDigits } from '../../store/fields.ts'

/** The flags that give a record its values. */
export const fieldFlags = ['hostname', 'recordPort', 'username', 'label'] as const

type FieldOptions = CommandInput<(typeof fieldFlags)[number]>['options']

/** The members of a body; those that were not given are undefined, so that JSON leaves them out. */
export interface GivenFields {
  readonly hostname: string | undefined
  /** Text that is not a number stays text; the server refuses it in its own words. */
  readonly port: unknown
  readonly username: string | undefined
  readonly labels: Readonly<Record<string, string | null>> | undefined
}

/** @param removed Keys of labels to remove. @throws {UsageError} if a label is given twice. */
export function givenFields(
  { hostname, recordPort, username, label }: FieldOptions,
  removed: readonly string[] = [],
): GivenFields {
  const entries = [...label, ...removed.map((key) => [key, null] as const)]
  const labels = new Map(entries)
  if (labels.size < entries.length) {
    const twice = entries.find(([key], i) => entries.findIndex(([other]) => other === key) < i)?.[0]
    throw new UsageError(`The label "${twice}" is given twice; give it once`)
  }
  return {
    hostname,
    port: recordPort === undefined ? undefined : parseDigits(recordPort),
    username,
    // Unlike an assignment, this makes a member `__proto__`, which the server refuses.
    labels: labels.size === 0 ? undefined : Object.fromEntries(labels),
  }
}
