import { recordPath } from '../../client/endpoint.ts'
import { askForRecord } from '../../client/served-record.ts'
import { defineCommand } from '../../command-line/command.ts'
import { changeExitCodes } from '../../command-line/exit-codes.ts'
import { UsageError } from '../../errors.ts'
import { optionalFields } from '../../store/fields.ts'
import { allOf } from '../../text.ts'
import { bodyOf, JSON_BODY, makeChange, quoted } from './changes.ts'
import { clientFlags, connect } from './connect.ts'
import { areSeveral, forEachName, NAMES_NOTE, readNames } from './given-names.ts'
import { changeMany, checkManyFlags, manyFlags, WHERE_NOTE } from './many.ts'
import { fieldFlags, givenFields, removalFlags } from './record-fields.ts'
import { warnOfThrough } from './through.ts'
import { parseWhere } from './where.ts'

const CREATED = 201
const removals = [...optionalFields.map((name) => `--no-${name}`), '--no-label']

export const setCommand = defineCommand({
  name: 'set',
  operands: '[NAME…]',
  operandsMax: Number.POSITIVE_INFINITY,
  completes: 'records',
  summary: 'change a record, or many; what is not given stays as it is',
  examples: [
    ['connbook set web1 --port 2222 --label env=prod', ''],
    ['connbook set web1 --name web2 --reason "ticket 4711"', ''],
    ['connbook set web1 web2 --label env=prod', ''],
    ['connbook set --where label=env=test --port 2222', ''],
    ['connbook set web1 --create --hostname 192.0.2.10 --port 22 --username deploy', ''],
  ],
  notes: [
    'With --create the record is added if it is missing, and replaced as a whole if it is there: labels that are not given go. So it may run twice.',
    NAMES_NOTE,
    WHERE_NOTE,
  ],
  flags: [
    ...clientFlags,
    ...fieldFlags,
    'newName',
    ...removalFlags,
    'create',
    'ifMatch',
    ...manyFlags,
    'reason',
  ],
  exitCodes: changeExitCodes,
  async run(input, context) {
    const { options, operands } = input
    const { create, newName, ifMatch, where } = options
    const fields = givenFields(options)
    const isRemoving = [fields, fields.labels ?? {}].some((values) => Object.values(values).includes(null))
    if (create && (newName !== undefined || isRemoving))
      throw new UsageError(
        `--create replaces a record as a whole: leave out ${allOf(['--name', ...removals])}`,
      )
    if (!create && newName === undefined && Object.values(fields).every((value) => value === undefined))
      throw new UsageError('Say what to change; see connbook help set')
    checkManyFlags(options, operands)
    if (where !== undefined) {
      if (create || newName !== undefined || ifMatch !== undefined)
        throw new UsageError('With --where, leave out --create, --name and --if-match')
      const change = { where: parseWhere(where, ['all']), patch: fields }
      await changeMany(await connect(input, context, 'set'), context, change, options)
      return
    }
    if (operands.length === 0)
      throw new UsageError(
        'Name the record to change, or the records with --where QUERY; nothing has changed',
      )
    if ((newName !== undefined || ifMatch !== undefined) && areSeveral(operands))
      throw new UsageError('--name and --if-match are for one record; name only that one')
    const names = await readNames(operands, context)
    const client = await connect(input, context, 'set', { isMadeIfMissing: create })
    await forEachName(client, names, async (name) => {
      if (newName !== undefined && newName !== name) await warnOfThrough(client, context.screen, name)
      const call = askForRecord(client, {
        method: create ? 'PUT' : 'PATCH',
        path: recordPath(name),
        headers: { ...JSON_BODY, ...(ifMatch === undefined ? {} : { 'If-Match': ifMatch }) },
        body: bodyOf({ name: newName, ...fields }),
      })
      await makeChange(client, context.screen, call, ({ status, record }) => {
        return `${status === CREATED ? 'Added' : 'Set'} ${quoted(record.name)}`
      })
    })
  },
})
