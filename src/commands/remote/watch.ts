import { UnreachableError } from '../../client/call.ts'
import type { Client } from '../../client/client.ts'
import { type FollowedChange, followChanges } from '../../client/followed-records.ts'
import { pause } from '../../client/pause.ts'
import { linesOf } from '../../command-line/columns.ts'
import { defineCommand, type Screen } from '../../command-line/command.ts'
import { clientExitCodes } from '../../command-line/exit-codes.ts'
import { inform } from '../../command-line/output.ts'
import { clientFlags, connect } from './connect.ts'
import { cellsOf, explainFaults, filterFlags, filterOf, filterValues } from './record-fields.ts'

/** Between looks whether the folder has a server by now. */
const SERVER_LOOK_MS = 500

/** Prints changes until it is interrupted, or nobody reads any more. */
export const watchCommand = defineCommand({
  name: 'watch',
  summary: 'print a line for each change, as it happens',
  examples: [
    ['connbook watch', 'added, modified, removed'],
    ['connbook watch --label env=prod --json', 'of some records, one object a line'],
  ],
  notes: [
    'After a broken connection it goes on by itself, and prints no change twice and leaves none out. A record that gets another name is modified; its old name comes last in the line.',
  ],
  flags: [...clientFlags, ...filterFlags, 'json'],
  exitCodes: clientExitCodes,
  async run(input, context) {
    const { style, print, screen } = context
    const { options } = input
    const client = await connect(input, context, 'watch', { isServerOnly: true })
    const lineOf = (change: FollowedChange) => {
      if (options.json) return jsonOf(change)
      return cellsOfChange(change).join(style.isTerminal ? '  ' : '\t')
    }
    let said: string | undefined
    const following = {
      filter: filterOf(options),
      query: filterValues(options),
      onBroken(reason: string) {
        if (reason !== said) screen.write(`connbook: ${reason}; going on in a moment\n`)
        said = reason
      },
    }
    await waitForServer(client, screen)
    const changes = followChanges(client, following)
    for (;;) {
      const { done, value } = await explainFaults(changes.next())
      if (done) return
      said = undefined
      if (await inform(print, linesOf(value.map(lineOf)))) continue
      await changes.return(undefined)
      return
    }
  },
})

/** Waits until a server has the folder that is followed, and says so once. */
async function waitForServer(client: Client, screen: Screen): Promise<void> {
  if (client.endpoint.folder === undefined) return
  for (let hasSaid = false; ; hasSaid = true) {
    try {
      await client.ask({ method: 'GET', path: '/v1/whoami' })
      return
    } catch (error) {
      if (!(error instanceof UnreachableError)) throw error
      if (!hasSaid) screen.write(`connbook: ${error.message}; waiting for it\n`)
      await pause(SERVER_LOOK_MS)
    }
  }
}

function cellsOfChange({ event, record, before }: FollowedChange): string[] {
  const isRenamed = before !== undefined && before.name !== record.name
  return [event, ...cellsOf(record), ...(isRenamed ? [`was ${before.name}`] : [])]
}

function jsonOf({ event, id, record: configuration, before }: FollowedChange): string {
  return JSON.stringify({ event, id, configuration, before })
}
