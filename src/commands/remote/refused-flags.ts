import { RefusedError } from '../../client/refused.ts'
import { escapeHidden } from '../../text.ts'

/**
 * Adds each fault that a server found to the message of its refusal, on a line of its own, by the word that was typed.
 *
 * @param typed What was typed for a field, where that is not a flag with the name of the field.
 */
export async function explainFaults<Result>(
  call: Promise<Result>,
  typed: Readonly<Record<string, string>> = {},
): Promise<Result> {
  try {
    return await call
  } catch (error) {
    if (!(error instanceof RefusedError) || error.faults.length === 0) throw error
    const lines = error.faults.map(({ field, detail }) => {
      return `\n  ${escapeHidden(typed[field] ?? flagOf(field))} ${escapeHidden(detail)}`
    })
    throw new RefusedError(`${error.message}${lines.join('')}`, error)
  }
}

function flagOf(field: string): string {
  const [, label] = /^labels\.(.+)$/s.exec(field) ?? []
  if (label !== undefined) return `--label ${label}:`
  return `--${field === 'labels' ? 'label' : field}`
}
