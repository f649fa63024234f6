import type { Client } from '../../client/client.ts'
import { listPath } from '../../client/endpoint.ts'
import { openList } from '../../client/record-stream.ts'
import { OtherAnswerError, RefusedError } from '../../client/refused.ts'
import { findRecord } from '../../client/served-record.ts'
import type { Screen } from '../../command-line/command.ts'
import { findThrough, throughQuery, throughSentence } from '../../exchange/hops.ts'
import { escapeHidden } from '../../text.ts'
import { quoted } from './changes.ts'

/** Says on standard error how many records go through one that is about to be deleted or to get another name. */
export async function warnOfThrough(client: Client, screen: Screen, name: string): Promise<void> {
  const sentence = throughSentence(await findNames(client, name))
  if (sentence !== undefined) screen.write(`connbook: ${quoted(name)} is a hop: ${escapeHidden(sentence)}\n`)
}

async function findNames(client: Client, name: string): Promise<readonly string[]> {
  const found: string[] = []
  try {
    const { pieces } = await openList(client, `${listPath()}?${throughQuery(name)}`)
    for await (const piece of pieces) {
      const records = piece.map(({ record }) => record)
      found.push(...(await findThrough(name, records, (hop) => findRecord(client, hop))))
    }
  } catch (error) {
    // The change, which comes next, says what is wrong with the server.
    if (!(error instanceof RefusedError || error instanceof OtherAnswerError)) throw error
  }
  return found
}
