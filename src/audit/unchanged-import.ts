import type { Actor } from '../store/actor.ts'
import type { ImportMode } from '../store/import-mode.ts'
import { countsOf, type ImportPlan } from '../store/import-plan.ts'
import type { AuditTrail } from './audit-trail.ts'

/** Lists an import that changed nothing; the trail hears of any other when its changes are durable. */
export async function recordIfUnchanged(
  audit: AuditTrail,
  actor: Actor,
  mode: ImportMode,
  plan: ImportPlan,
): Promise<void> {
  const counts = countsOf(plan)
  if (counts.added + counts.modified + counts.removed === 0)
    await audit.record('configurations_imported', actor, { mode, ...counts })
}
