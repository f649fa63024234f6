import { IMPORT_AUDITED_RECORDS_MAX } from '../limits.ts'
import type { Configuration } from '../store/configuration.ts'
import { fieldNames } from '../store/fields.ts'
import { countsOf, type ImportMode, type ImportPlan } from '../store/import-plan.ts'
import type { Actor, AuditTrail } from './audit-trail.ts'

/** A modification as the trail records it: each changed field with both values. */
export function changesBetween(before: Configuration, after: Configuration) {
  const fields = fieldNames.filter((field) => before[field] !== after[field])
  const changed = fields.map((field) => [field, { before: before[field], after: after[field] }])
  return { id: after.id, name: before.name, changed: Object.fromEntries(changed) }
}

/** Records an import, and each record that it changed if these are at most IMPORT_AUDITED_RECORDS_MAX. */
export async function recordImport(
  audit: AuditTrail,
  actor: Actor,
  mode: ImportMode,
  plan: ImportPlan,
): Promise<void> {
  const { added, modified, removed } = plan
  const lines = [audit.record('configurations_imported', actor, { mode, ...countsOf(plan) })]
  if (added.length + modified.length + removed.length <= IMPORT_AUDITED_RECORDS_MAX) {
    for (const record of removed) lines.push(audit.record('configuration_deleted', actor, undefined, record))
    for (const { before, after } of modified)
      lines.push(audit.record('configuration_modified', actor, changesBetween(before, after)))
    for (const record of added) lines.push(audit.record('configuration_added', actor, undefined, record))
  }
  await Promise.all(lines)
}
