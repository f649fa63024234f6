import { resolve } from 'node:path'
import { type CommandContext, defineCommand, IN_USE } from '../command-line/command.ts'
import { shown } from '../command-line/output.ts'
import { confirm } from '../command-line/terminal.ts'
import { dataFiles, dataPaths } from '../files/data-folder.ts'
import { type DataFolder, openDataFolder } from '../files/owned-folder.ts'
import { makeFirstAccounts, readFirstStartValues } from '../service/first-start.ts'
import { onInterruption } from '../service/signals.ts'
import { recordCommand } from '../state/command-audit.ts'
import {
  countAccounts,
  countLostChanges,
  describeRecovery,
  findRecovery,
  type RecoveredAccounts,
  type Recovery,
  recoverState,
} from '../state/recovery.ts'
import { checkHasData } from '../state/used-folder.ts'
import { counted } from '../text.ts'
import { renderFindings } from './check.ts'
import { checkOwnFolder } from './chosen-folder.ts'

/**
 * Salvages what can be read of a damaged folder. Shows first what that is, and asks.
 *
 * After a crash the folder is as it was, or its next owner completes the replacement.
 *
 * It throws {FolderInUseError} {FolderRefusedError} when the folder cannot be used, {NewerFolderError} when a newer
 * connbook wrote a file, {UsageError} without consent, and {RestoreFailedError} when the disk fails or is full; then
 * nothing has changed. It throws {RestoreIncompleteError} when the disk fails after the commit.
 */
export const recoverCommand = defineCommand({
  name: 'recover',
  summary: 'salvage what can be read of a damaged data folder',
  examples: [
    ['connbook recover', 'shows what would be kept and lost, and asks'],
    ['connbook recover --yes', 'does not ask'],
  ],
  server: 'stopped',
  notes: [
    'Every session and token ends.',
    'If you have a good backup, use connbook restore instead: recover salvages only what it can read.',
    'It keeps the old files, and changes nothing in a sound folder.',
  ],
  flags: ['data', 'yes'],
  exitCodes: {
    0: 'recovered, or the folder is sound',
    2: 'a wrong flag or word, or no consent; nothing has changed',
    65: 'a newer connbook wrote a file; nothing has changed',
    75: IN_USE,
  },
  async run({ options, given }, context) {
    await checkOwnFolder({ options, given }, context)
    const path = resolve(options.data)
    await checkHasData(dataPaths(path))
    const folder = await openDataFolder(path)
    try {
      await recover(folder, options.yes === true, context)
    } finally {
      folder.release()
    }
  },
})

async function recover(folder: DataFolder, isAgreed: boolean, context: CommandContext) {
  const { completedRestore } = folder
  if (completedRestore !== undefined) {
    await recordCommand(context, folder, 'restored', 'recover', { completed: completedRestore })
    await shown(
      context.print(`Completed "${completedRestore}", which was interrupted\n`),
      'show what was done',
    )
  }
  const recovery = await findRecovery(folder)
  const lines =
    recovery === undefined
      ? ['The folder is sound: there is nothing to recover']
      : await recoverAs(recovery, folder, isAgreed, context)
  await shown(context.print(`${lines.join('\n')}\n`), 'show what was done')
}

async function recoverAs(
  recovery: Recovery,
  folder: DataFolder,
  isAgreed: boolean,
  context: CommandContext,
): Promise<string[]> {
  const accounts =
    recovery.accounts ?? (await makeFirstAccounts(await readFirstStartValues(context.environment)))
  const report = [...describeRecovery(recovery), ''].join('\n')
  const printing = context.print(`${folder.path}\n${renderFindings(recovery.damaged)}${report}`)
  await shown(printing, 'show what would be lost', '; nothing has changed')
  if (!isAgreed) await confirm(`Replace the content of ${folder.path} by this?`, context)
  return replace(folder, recovery, accounts, context)
}

async function replace(
  folder: DataFolder,
  recovery: Recovery,
  accounts: RecoveredAccounts,
  context: CommandContext,
): Promise<string[]> {
  // Ignores signals: the rest is short, and stopping half-way would leave it to the next start.
  const release = onInterruption(() => {})
  try {
    const aside = await recoverState(folder, recovery, accounts)
    const { records, salvaged } = recovery
    await recordCommand(context, folder, 'recovered', 'recover', {
      records: records.count,
      lost_changes: countLostChanges(recovery),
      left_out: salvaged.misfits + salvaged.displaced.length,
      accounts: recovery.accounts === undefined ? 'new' : 'kept',
    })
    return [
      `Recovered ${counted(records.count, 'record')} and ${countAccounts(accounts.accounts)} in ${folder.path}`,
      ...(aside === undefined ? [] : [`What was there before is in ${aside}`]),
      ...(recovery.accounts === undefined ? describeNew(folder, accounts) : []),
      'Every session and token has ended',
    ]
  } finally {
    release()
  }
}

function describeNew(folder: DataFolder, { accounts, madeUp }: RecoveredAccounts): string[] {
  const names = [
    ...accounts.users.map(({ name }) => `user "${name}"`),
    ...accounts.clients.map(({ name }) => `client "${name}"`),
  ]
  const where =
    Object.keys(madeUp).length === 0
      ? ''
      : `; their secrets are in ${folder.file(dataFiles.initialCredentials)}`
  return [`New accounts: ${names.join(', ')}${where}`]
}
