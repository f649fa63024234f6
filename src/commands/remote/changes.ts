import { NoAnswerError } from '../../client/call.ts'
import type { Client } from '../../client/client.ts'
import type { Screen } from '../../command-line/command.ts'
import { escapeHidden } from '../../text.ts'
import { explainFaults } from './record-fields.ts'

export const JSON_BODY = { 'Content-Type': 'application/json' }

/** The body of a call. */
export function bodyOf(value: object): readonly Uint8Array[] {
  return [Buffer.from(JSON.stringify(value))]
}

/**
 * Makes a change, and then names it and the server on standard error.
 *
 * @param describe Puts what `call` resolves to into words, without a full stop: `Added "web1"`.
 * @param typed As in `explainFaults`.
 */
export async function makeChange<Result>(
  client: Client,
  screen: Screen,
  call: Promise<Result>,
  describe: (result: Result) => string,
  typed: Readonly<Record<string, string>> = {},
): Promise<void> {
  const result = await explainFaults(call, typed).catch((error: unknown) => {
    if (!(error instanceof NoAnswerError)) throw error
    throw new NoAnswerError(
      `${error.message}; whether the change was made is not known, so look before you repeat it`,
      {
        cause: error,
      },
    )
  })
  screen.write(`${describe(result)} at ${client.endpoint.name}\n`)
}

/** A name in a message. */
export function quoted(name: string): string {
  return `"${escapeHidden(name)}"`
}
