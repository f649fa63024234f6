import { changesBetween } from '../../audit/audit-line.ts'
import type { Client } from '../../client/client.ts'
import { recordPath } from '../../client/endpoint.ts'
import type { Call } from '../../client/messages.ts'
import { RefusedError } from '../../client/refused.ts'
import { askForRecord } from '../../client/served-record.ts'
import { linesOf } from '../../command-line/columns.ts'
import { type CommandContext, defineCommand } from '../../command-line/command.ts'
import { changeExitCodes } from '../../command-line/exit-codes.ts'
import { shown } from '../../command-line/output.ts'
import { agrees, checkCanAsk, NotAgreedError } from '../../command-line/terminal.ts'
import { UsageError } from '../../errors.ts'
import { printableJson } from '../../json.ts'
import { HISTORY_ENTRIES_MAX } from '../../limits.ts'
import { parseMoment } from '../../moment.ts'
import type { Configuration } from '../../store/configuration.ts'
import { describeModification } from '../changed-values.ts'
import { bodyOf, deleteRecord, JSON_BODY, makeChange, quoted } from './changes.ts'
import { clientFlags, connect } from './connect.ts'
import { findPast, type Past, type PastPoint } from './past-record.ts'
import { warnOfThrough } from './through.ts'

/** How often it is tried without a question, when others change the record meanwhile. */
const TRIES_MAX = 5

export const revertCommand = defineCommand({
  name: 'revert',
  operands: 'NAME',
  completes: 'records',
  summary: 'put a record back as it was',
  examples: [
    ['connbook revert web1', 'as before its last change'],
    ['connbook revert web1 --steps 3 --dry-run', 'changes nothing'],
    ['connbook revert web1 --to 7d', 'as seven days ago'],
  ],
  notes: [
    `It shows what would change, and asks. In a pipe it needs --yes. It goes back behind all changes since, at most ${HISTORY_ENTRIES_MAX}. A record that was deleted comes back with a new id; one that was not there then is deleted, unless another one that had its name was deleted since.`,
  ],
  flags: [...clientFlags, 'to', 'steps', 'dryRun', 'yes', 'reason'],
  exitCodes: { ...changeExitCodes, 1: 'you did not agree, or the history does not go back so far' },
  async run(input, context) {
    const {
      options,
      operands: [name = ''],
    } = input
    const { to, steps, dryRun, yes } = options
    if (to !== undefined && steps !== undefined) throw new UsageError('Give --to or --steps, not both')
    if (name === '') throw new UsageError('The name of a record cannot be empty; give its name')
    if (!yes && !dryRun) checkCanAsk(context)
    const point = pointBy(to, steps ?? 1)
    const client = await connect(input, context, 'revert')
    for (let tries = 1; ; tries++) {
      const past = await findPast(client, name, point)
      const { present, then } = past
      if (isSame(present?.record, then))
        return void context.screen.write(
          `${quoted(name)} is so already; nothing has changed ${client.endpoint.where}\n`,
        )
      if (!yes || dryRun) await show(client, context, past)
      if (dryRun) return void context.screen.write(`Nothing has changed ${client.endpoint.where}\n`)
      if (!yes && !(await agrees(questionOf(past, client), context))) throw new NotAgreedError()
      try {
        return await make(client, context, past)
      } catch (error) {
        if (present === undefined || !isStale(error) || (yes && tries === TRIES_MAX)) throw error
        if (!yes)
          context.screen.write(
            'The record has changed meanwhile, so nothing was done; this is what would be done now:\n',
          )
      }
    }
  },
})

/** @throws {UsageError} for a time that is still to come. */
function pointBy(to: string | undefined, steps: number): PastPoint {
  if (to === undefined) return { steps }
  const now = Date.now()
  const time = parseMoment(to, now) ?? ''
  if (Date.parse(time) > now) throw new UsageError(`Cannot go back to ${to}: it is still to come`)
  return { time }
}

function isSame(present: Configuration | undefined, then: Configuration | undefined): boolean {
  if (present === undefined || then === undefined) return present === then
  return Object.keys(changesBetween(present, then).changed).length === 0
}

/** Whether somebody else has changed or deleted the record, so that nothing was done. */
function isStale(error: unknown): boolean {
  return error instanceof RefusedError && ['stale_record', 'unknown_name'].includes(error.problem ?? '')
}

async function show(client: Client, context: CommandContext, { present, then }: Past) {
  const before = present?.record
  if (before !== undefined && then?.name !== before.name)
    await warnOfThrough(client, context.screen, before.name)
  await shown(
    context.print(linesOf([lineOf(before, then)])),
    'show what would change',
    '; nothing has changed',
  )
}

function lineOf(before: Configuration | undefined, then: Configuration | undefined): string {
  if (before === undefined) return `add ${printableJson(then?.name)}`
  if (then === undefined) return `remove ${printableJson(before.name)}`
  return describeModification(before.name, changesBetween(before, then).changed)
}

function questionOf({ present, then }: Past, { endpoint }: Client): string {
  if (then === undefined)
    return `Delete ${quoted(present?.record.name ?? '')}, which was not there then, ${endpoint.where}?`
  return `Put ${quoted(then.name)} back ${endpoint.where}?`
}

function make(client: Client, { screen }: CommandContext, { present, then }: Past): Promise<void> {
  if (then === undefined) {
    const name = present?.record.name ?? ''
    const call = deleteRecord(client, name, { 'If-Match': `"${present?.tag}"` })
    return makeChange(client, screen, call, () => `Deleted ${quoted(name)}, which was not there then,`)
  }
  if (present === undefined)
    return makeChange(
      client,
      screen,
      addAgain(client, then),
      ({ record }) => `Put ${quoted(record.name)} back, with the new id ${record.id},`,
    )
  const call = askForRecord(client, {
    method: 'PATCH',
    path: recordPath(present.record.name),
    headers: { ...JSON_BODY, 'If-Match': `"${present.tag}"` },
    body: bodyOf(patchTo(present.record, then)),
  })
  return makeChange(client, screen, call, ({ record }) => `Put ${quoted(record.name)} back`)
}

/** What a `PATCH` says, so that a record becomes another one. */
function patchTo(present: Configuration, then: Configuration): object {
  const fields: Record<string, unknown> = {}
  const labels: Record<string, unknown> = {}
  for (const [key, { after }] of Object.entries<{ readonly after?: unknown }>(
    changesBetween(present, then).changed,
  )) {
    if (key.startsWith('labels.')) labels[key.slice('labels.'.length)] = after
    else fields[key] = after
  }
  return Object.keys(labels).length === 0 ? fields : { ...fields, labels }
}

/** @throws {RefusedError} also if another record has the name now. */
async function addAgain(client: Client, { id, ...fields }: Configuration) {
  const call: Call = {
    method: 'PUT',
    path: recordPath(fields.name),
    headers: { ...JSON_BODY, 'If-None-Match': '*' },
    body: bodyOf(fields),
  }
  return askForRecord(client, call).catch((error: unknown) => {
    if (!isStale(error)) throw error
    const message = `Cannot put ${quoted(fields.name)} back: another record has the name now; nothing has changed`
    throw new RefusedError(message, error as RefusedError)
  })
}
