import type { Client } from '../../client/client.ts'
import { listPath } from '../../client/endpoint.ts'
import { OtherAnswerError, RefusedError } from '../../client/refused.ts'
import { linesOf } from '../../command-line/columns.ts'
import type { CommandContext } from '../../command-line/command.ts'
import { shown } from '../../command-line/output.ts'
import { agrees, checkCanAsk, NotAgreedError } from '../../command-line/terminal.ts'
import { UsageError } from '../../errors.ts'
import { isObject, parseJson, printableJson } from '../../json.ts'
import { counted } from '../../text.ts'
import { describeModification } from '../changed-values.ts'
import { isStandardOutput } from '../written-file.ts'
import { bodyOf, JSON_BODY, makeChange, mayBeMade } from './changes.ts'
import { explainFaults } from './record-fields.ts'
import { saveRecords } from './saved-records.ts'
import type { WherePairs } from './where.ts'

/** The flags of commands that change what a query keeps. */
export const manyFlags = ['where', 'dryRun', 'yes', 'save'] as const
/** How often a change is tried whose records were saved, when others change records meanwhile. */
const SAVED_TRIES_MAX = 5
export const WHERE_NOTE =
  'With --where it shows what would change, asks, and changes all records that the query keeps, or none: only filters, or all=1 for all records. In a pipe it needs --yes. See connbook help many.'

/** @param names The operands. @throws {UsageError} for names beside `--where`, or flags that take it and are without it. */
export function checkManyFlags(
  { where, yes, dryRun, save }: ManyOptions & { readonly where: string | undefined },
  names: readonly string[],
): void {
  if (where !== undefined && names.length > 0)
    throw new UsageError('Name records, or give --where, not both; nothing has changed')
  if (where === undefined && (yes || dryRun || save !== undefined)) {
    const flag = yes ? '--yes' : dryRun ? '--dry-run' : '--save'
    throw new UsageError(`${flag} is for --where; nothing has changed`)
  }
  if (save !== undefined && (dryRun || isStandardOutput(save)))
    throw new UsageError(
      dryRun
        ? 'Give --save or --dry-run, not both'
        : '--save needs a file, not standard output; nothing has changed',
    )
}

/** A change of all records that a query keeps. */
export interface ManyChange {
  readonly where: WherePairs
  /** What is set; undefined to delete the records. */
  readonly patch: object | undefined
}

export interface ManyOptions {
  /** Whether it is made without a question. */
  readonly yes: boolean
  /** Whether it is only shown. */
  readonly dryRun: boolean
  /** The file for the records as they were. */
  readonly save: string | undefined
}

/** What a change did, or would do. */
interface ManyOutcome {
  readonly matched: number
  /** Records that it modified or removed. */
  readonly affected: number
  /** The first ones, after a dry run. */
  readonly changed: readonly unknown[]
  readonly tag: string
}

/**
 * Shows what a change would do, asks, and makes it for the records that were shown. If any record has changed meanwhile, it
 * shows and asks anew.
 *
 * @param back How to undo it, to end what is said of it.
 * @throws {UsageError} at once if it would have to ask, and there is no terminal. {NotAgreedError} after a no.
 */
export async function changeMany(
  client: Client,
  context: CommandContext,
  change: ManyChange,
  { yes, dryRun, save }: ManyOptions,
  back = '',
) {
  const { screen } = context
  const { where } = client.endpoint
  const { verb, done } = change.patch === undefined ? removing : changing
  if (yes && !dryRun)
    return save === undefined
      ? make(client, context, change, back)
      : makeSaved(client, context, change, back, save)
  if (!dryRun) checkCanAsk(context)
  for (;;) {
    const trial = await explainFaults(ask(client, change, { dry_run: 1 }))
    const { matched, affected } = trial
    if (matched === 0)
      return void screen.write(`No record is kept by --where; nothing has changed ${where}\n`)
    await shown(
      context.print(linesOf(linesOfTrial(trial))),
      'show what would change',
      '; nothing has changed',
    )
    const what = `${counted(affected, 'record')}${affected < matched ? ` of ${matched}` : ''}`
    if (dryRun) return void screen.write(`Would ${verb} ${what} ${where}; nothing has changed\n`)
    if (affected === 0)
      return void screen.write(
        `${counted(matched, 'record')} kept, and so already; nothing has changed ${where}\n`,
      )
    if (!(await agrees(`${done} ${what} ${where}?`, context))) throw new NotAgreedError()
    try {
      const { tag } = trial
      return await (save === undefined
        ? make(client, context, change, back, tag)
        : makeOnceSaved(client, context, change, back, save, tag))
    } catch (error) {
      if (!isStale(error)) throw error
      screen.write('Records have changed meanwhile, so nothing was done; this is what would be done now:\n')
    }
  }
}

const changing = { verb: 'change', done: 'Change' } as const
const removing = { verb: 'delete', done: 'Delete' } as const

function isStale(error: unknown): boolean {
  return error instanceof RefusedError && error.problem === 'stale_record'
}

/** Saves the records and makes the change, again and again while others change records in between. */
async function makeSaved(
  client: Client,
  context: CommandContext,
  change: ManyChange,
  back: string,
  save: string,
) {
  for (let tries = 1; ; tries++) {
    try {
      return await makeOnceSaved(client, context, change, back, save)
    } catch (error) {
      if (!isStale(error) || tries === SAVED_TRIES_MAX) throw error
    }
  }
}

/** The change is made for the records as they were saved. @param shownTag Of the list that was shown, if one was. */
async function makeOnceSaved(
  client: Client,
  context: CommandContext,
  change: ManyChange,
  back: string,
  save: string,
  shownTag?: string,
) {
  const { tag, remove } = await saveRecords(client, change.where, save)
  try {
    const { affected } = await make(client, context, change, back, shownTag ?? tag)
    if (affected === 0) await remove()
    else context.screen.write(`Saved as they were to ${save}\n`)
  } catch (error) {
    if (mayBeMade(error)) context.screen.write(`The records as they were are in ${save}\n`)
    else await remove()
    throw error
  }
}

/** @param tag The tag of the list that was shown, or saved. */
async function make(
  client: Client,
  { screen }: CommandContext,
  change: ManyChange,
  back: string,
  tag?: string,
) {
  const isRemoval = change.patch === undefined
  const made = ask(client, change, {}, tag)
  const describe = ({ matched, affected }: ManyOutcome) => {
    if (isRemoval) return `Deleted ${counted(affected, 'record')}`
    const others = matched - affected
    return `Changed ${counted(affected, 'record')}${others === 0 ? '' : `; ${others} more were so already`}`
  }
  await makeChange(client, screen, made, describe, {}, ({ affected }) => (affected === 0 ? '' : back))
  return made
}

async function ask(
  client: Client,
  { where, patch }: ManyChange,
  more: { readonly dry_run?: 1 },
  tag?: string,
): Promise<ManyOutcome> {
  const condition = tag === undefined ? {} : { 'If-Match': tag }
  const { headers, text } = await client.ask({
    method: patch === undefined ? 'DELETE' : 'PATCH',
    path: listPath(more, where),
    headers: { ...(patch === undefined ? {} : JSON_BODY), ...condition },
    ...(patch === undefined ? {} : { body: bodyOf(patch) }),
  })
  const answered = parseJson(text)
  const { matched, modified, removed, changed = [] } = isObject(answered) ? answered : {}
  const affected = patch === undefined ? removed : modified
  const { etag } = headers
  if (
    typeof matched !== 'number' ||
    typeof affected !== 'number' ||
    !Array.isArray(changed) ||
    etag === undefined
  )
    throw new OtherAnswerError(
      `${client.endpoint.name} does not say what it has changed; is it a connbook, and as new as this one?`,
    )
  return { matched, affected, changed, tag: etag }
}

function linesOfTrial({ affected, changed }: ManyOutcome): string[] {
  const isRemoval = changed.some((one) => isObject(one) && 'record' in one)
  const lines = changed.map((one) => {
    const { name, changed } = isObject(one) ? one : {}
    return isRemoval ? `remove ${printableJson(name)}` : describeModification(String(name), changed)
  })
  const rest = affected - changed.length
  return rest > 0 ? [...lines, `${isRemoval ? 'remove' : 'modify'} ${rest} more`] : lines
}
