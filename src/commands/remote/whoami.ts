import { OtherAnswerError } from '../../client/refused.ts'
import { align, linesOf } from '../../command-line/columns.ts'
import { defineCommand } from '../../command-line/command.ts'
import { shown } from '../../command-line/output.ts'
import { isObject } from '../../json.ts'
import { escapeHidden } from '../../text.ts'
import { clientExitCodes } from './client-exit-codes.ts'
import { clientFlags, connect } from './connect.ts'

export const whoamiCommand = defineCommand({
  name: 'whoami',
  summary: 'show which server is called, and as whom',
  examples: [['connbook whoami', 'server, account, what it may do, until when']],
  server: 'running',
  flags: [...clientFlags, 'json'],
  exitCodes: clientExitCodes,
  async run(input, context) {
    const client = await connect(input, context, 'whoami')
    const answered = await client.askJson({ method: 'GET', path: '/v1/whoami' })
    if (!isObject(answered) || typeof answered.account !== 'string')
      throw new OtherAnswerError(`${client.endpoint.name} does not say who calls; is it an older connbook?`)
    const { style, print } = context
    // Whatever the answer says: this is the server that was called.
    const { server, ...others } = answered
    const told = { server: client.endpoint.name, ...others }
    const rows = Object.entries(told).map(([key, value]) => [key, String(value)])
    const seen = style.isTerminal ? escapeHidden : (text: string) => text
    const cells = rows.map((row) => row.map(seen))
    const lines = style.isTerminal ? align(cells) : cells.map((row) => row.join('\t'))
    const text = input.options.json ? [seen(JSON.stringify(told))] : lines
    await shown(print(linesOf(text)), 'show who calls')
  },
})
