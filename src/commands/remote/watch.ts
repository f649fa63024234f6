import { type FollowedChange, followChanges } from '../../client/followed-records.ts'
import { linesOf } from '../../command-line/columns.ts'
import { defineCommand } from '../../command-line/command.ts'
import { clientExitCodes } from '../../command-line/exit-codes.ts'
import { inform } from '../../command-line/output.ts'
import { escapeHidden } from '../../text.ts'
import { clientFlags, connect } from './connect.ts'
import { cellsOf, explainFaults, filterFlags, filterOf, filterValues } from './record-fields.ts'

/** Prints changes until it is interrupted, or nobody reads any more. */
export const watchCommand = defineCommand({
  name: 'watch',
  summary: 'print a line for each change, as it happens',
  examples: [
    ['connbook watch', 'added, modified, removed'],
    ['connbook watch --label env=prod --json', 'of some records, one object a line'],
  ],
  server: 'running',
  notes: [
    'After a broken connection it goes on by itself, and prints no change twice and leaves none out. A record that gets another name is modified; its old name comes last in the line.',
  ],
  flags: [...clientFlags, ...filterFlags, 'json'],
  exitCodes: clientExitCodes,
  async run(input, { style, print, screen, environment }) {
    const { options } = input
    const client = await connect(input, { environment }, 'watch')
    const lineOf = (change: FollowedChange) => {
      const text = options.json ? jsonOf(change) : cellsOfChange(change)
      if (typeof text === 'string') return style.isTerminal ? escapeHidden(text) : text
      return style.isTerminal ? text.map(escapeHidden).join('  ') : text.join('\t')
    }
    const following = {
      filter: filterOf(options),
      query: filterValues(options),
      onBroken: (reason: string) => void screen.write(`connbook: ${reason}; going on in a moment\n`),
    }
    const changes = followChanges(client, following)
    for (;;) {
      const { done, value } = await explainFaults(changes.next())
      if (done) return
      if (await inform(print, linesOf(value.map(lineOf)))) continue
      await changes.return(undefined)
      return
    }
  },
})

function cellsOfChange({ event, record, before }: FollowedChange): string[] {
  const isRenamed = before !== undefined && before.name !== record.name
  return [event, ...cellsOf(record), ...(isRenamed ? [`was ${before.name}`] : [])]
}

function jsonOf({ event, id, record: configuration, before }: FollowedChange): string {
  return JSON.stringify({ event, id, configuration, before })
}
