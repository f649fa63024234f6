import { recordIfUnchanged } from '../audit/audit-trail.ts'
import { readListedChanges } from '../audit/listed-changes.ts'
import type { CommandContext } from '../command-line/command.ts'
import type { DataFolder } from '../files/data-folder.ts'
import { createLog } from '../log.ts'
import { commandActor, openCommandTrail } from '../state/command-audit.ts'
import { openConfigurationStore, readStore } from '../storage/file/file-storage.ts'
import type { ImportMode } from '../store/authorship.ts'
import type { ImportPlan } from '../store/bulk-change.ts'
import type { ImportedConfiguration } from '../store/configuration.ts'
import { countsOf, planImport } from '../store/import-plan.ts'
import type { ImportOrder } from './import-call.ts'

/** Changes nothing in the folder. */
export async function planRecords(
  folder: DataFolder,
  drafts: readonly ImportedConfiguration[],
  mode: ImportMode,
): Promise<ImportPlan> {
  const { index } = await readStore(folder, true, await readListedChanges(folder))
  return planImport(drafts, mode, {
    records: index.freeze(),
    find: (name) => index.find(name),
    lastId: index.lastId,
  })
}

/** Imports them without a server. */
export async function changeRecords(
  folder: DataFolder,
  drafts: readonly ImportedConfiguration[],
  { mode, reason }: ImportOrder,
  context: CommandContext,
): Promise<ImportPlan> {
  // Without what a server logs when it opens the store.
  const log = { ...createLog('text', (line) => context.screen.write(line)), info: () => {} }
  const trail = await openCommandTrail(context, folder)
  try {
    const store = await openConfigurationStore(folder, { mustExist: true, log, trail })
    try {
      const command = commandActor('import', context.environment)
      const actor = reason === undefined ? command : { ...command, reason }
      const plan = await store.importAll(actor, drafts, mode)
      await recordIfUnchanged(trail, actor, { import: { mode, ...countsOf(plan) } })
      // The trail has shown why it cannot be written; the next start completes it.
      await trail.sync().catch(() => {})
      return plan
    } finally {
      await store.close()
    }
  } finally {
    await trail.close().catch((error: unknown) => log.error('audit_not_written', { reason: String(error) }))
  }
}
