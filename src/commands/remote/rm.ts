import { type CommandInput, defineCommand } from '../../command-line/command.ts'
import { changeExitCodes } from '../../command-line/exit-codes.ts'
import { UsageError } from '../../errors.ts'
import { wordForShell } from '../../shell.ts'
import { escapeHidden, hidePassword } from '../../text.ts'
import { deleteRecord, makeChange, quoted } from './changes.ts'
import { clientFlags, connect } from './connect.ts'
import { areSeveral, forEachName, NAMES_NOTE, readNames } from './given-names.ts'
import { changeMany, checkManyFlags, manyFlags, WHERE_NOTE } from './many.ts'
import { warnOfThrough } from './through.ts'
import { parseWhere } from './where.ts'

export const rmCommand = defineCommand({
  name: 'rm',
  operands: '[NAME…]',
  operandsMax: Number.POSITIVE_INFINITY,
  completes: 'records',
  summary: 'delete records',
  examples: [
    ['connbook rm web1', ''],
    ['connbook rm web1 web2 web3', 'one after the other'],
    ['connbook ls --names old | connbook rm -', 'a list'],
    ['connbook rm --where label=env=test', 'shows them, and asks'],
  ],
  notes: [NAMES_NOTE, WHERE_NOTE],
  flags: [...clientFlags, 'ifMatch', ...manyFlags, 'reason'],
  exitCodes: changeExitCodes,
  async run(input, context) {
    const { options, operands } = input
    const { ifMatch, where } = options
    checkManyFlags(options, operands)
    if (where !== undefined) {
      if (ifMatch !== undefined) throw new UsageError('With --where, leave out --if-match')
      const change = { where: parseWhere(where, ['all']), patch: undefined }
      const back = backLine('NAME', 'one', input)
      await changeMany(await connect(input, context, 'rm'), context, change, options, back)
      return
    }
    if (operands.length === 0)
      throw new UsageError('Write it as: connbook rm NAME…, or: connbook rm --where QUERY')
    if (ifMatch !== undefined && areSeveral(operands))
      throw new UsageError('--if-match is for one record; name only that one')
    const headers = ifMatch === undefined ? {} : { 'If-Match': ifMatch }
    const names = await readNames(operands, context)
    const client = await connect(input, context, 'rm')
    await forEachName(client, names, async (name) => {
      await warnOfThrough(client, context.screen, name)
      const call = deleteRecord(client, name, headers)
      const back = backLine(name, 'it', input)
      await makeChange(
        client,
        context.screen,
        call,
        () => `Deleted ${quoted(name)}`,
        {},
        () => back,
      )
    })
  },
})

/** The command that brings a record back from the same server; empty if somebody could not type it as it is shown. */
function backLine(name: string, what: string, { given }: Pick<CommandInput, 'given'>): string {
  const place = ['--server', '--data'].flatMap((flag) => {
    const text = given.get(flag)
    return text === undefined ? [] : [flag, hidePassword(text)]
  })
  const names = name.startsWith('-') ? ['--', name] : [name]
  const words = ['connbook', 'revert', ...place, ...names]
  if (words.some((word) => escapeHidden(word) !== word)) return ''
  return `; ${words.map(wordForShell).join(' ')} brings ${what} back`
}
