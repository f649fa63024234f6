import type { Client } from './client.ts'
import { listPath } from './endpoint.ts'
import { pause } from './pause.ts'
import { OtherAnswerError } from './refused.ts'

/** A server may be silent for longer, but not for long enough to notice late that it has gone. */
const WAIT_SECONDS = 20
/** Before the next question, in case that a proxy makes the server answer at once. */
export const NEXT_WAIT_MS = 250

/**
 * Waits until some record has changed.
 *
 * @param seen The tag of a list or an export, as its header has it; without it the answer comes at once.
 * @param signal Ends the wait.
 * @returns The tag of the list by now.
 * @throws as `Client.open` does; {OtherAnswerError} if the list has no tag.
 */
export async function waitForChange(
  client: Client,
  seen: string | undefined,
  signal: AbortSignal,
): Promise<string> {
  const headers = seen === undefined ? {} : { 'If-None-Match': seen, Prefer: `wait=${WAIT_SECONDS}` }
  // Nothing of the list is needed but its tag.
  const path = listPath({ page: 0, per_page: 1 })
  for (;;) {
    const { status, headers: answered } = await client.ask({ method: 'GET', path, headers }, signal)
    if (status !== 304) return tagOf(answered.etag)
    await pause(NEXT_WAIT_MS, signal)
  }
}

function tagOf(etag: string | undefined): string {
  if (etag !== undefined) return etag
  throw new OtherAnswerError('The list has no ETag; does a proxy remove it?')
}
