import { listPath } from '../../client/endpoint.ts'
import { askForRecord } from '../../client/served-record.ts'
import { defineCommand } from '../../command-line/command.ts'
import { clientExitCodes } from '../../command-line/exit-codes.ts'
import { bodyOf, JSON_BODY, makeChange, quoted } from './changes.ts'
import { clientFlags, connect } from './connect.ts'
import { fieldFlags, givenFields } from './record-fields.ts'

export const addCommand = defineCommand({
  name: 'add',
  operands: 'NAME',
  summary: 'add a record',
  examples: [
    ['connbook add web1 --hostname 192.0.2.10 --port 22 --username deploy', ''],
    ['connbook add db1 --hostname db1 --port 5432 --username app --label env=prod', ''],
  ],
  server: 'running',
  flags: [...clientFlags, ...fieldFlags],
  exitCodes: { ...clientExitCodes, 4: 'the name is taken; nothing has changed' },
  async run(input, context) {
    const {
      options,
      operands: [name = ''],
    } = input
    const body = bodyOf({ name, ...givenFields(options) })
    const client = await connect(input, context, 'add')
    const call = askForRecord(client, { method: 'POST', path: listPath(), headers: JSON_BODY, body })
    await makeChange(client, context.screen, call, ({ record }) => `Added ${quoted(record.name)}`, {
      name: 'NAME',
    })
  },
})
