import type { AuditEvent, AuditFields } from '../audit/audit-line.ts'
import type { SharedDocument } from '../files/shared-document.ts'
import { areSameGrants } from '../http/message.ts'
import { type Account, type AccountKind, type Accounts, findAccount, scopeOf } from './accounts.ts'
import type { InitialSecrets } from './credential-storage.ts'

/** What a change did to one account. */
export interface AccountChange {
  readonly before: Accounts
  /** The same object as `before` if nothing was changed. */
  readonly after: Accounts
  /** Its lines of the audit trail, which the caller adds. */
  readonly lines: readonly AccountLine[]
}

export interface AccountLine {
  readonly event: AuditEvent
  readonly fields: AuditFields
}

/**
 * Adds, changes or removes one account where it is stored; resolves once that is durable. A secret that is not good any
 * more leaves the initial credentials. Commands and the server change accounts only so.
 *
 * @param change Decides against the accounts that are stored now; called again if somebody else was faster. What it throws
 *   changes nothing.
 * @param forget As in `InitialSecrets`; undefined if there are none.
 * @throws as `SharedDocument.edit` does.
 */
export async function changeAccount(
  accounts: SharedDocument<Accounts>,
  kind: AccountKind,
  name: string,
  change: (found: Accounts) => Accounts | Promise<Accounts>,
  forget: InitialSecrets['forget'] | undefined,
): Promise<AccountChange> {
  let hasEndedSecret = false
  const { before, after } = await accounts.edit(
    async (found) => {
      const changed = await change(found)
      const [was, is] = [findAccount(found, kind, name), findAccount(changed, kind, name)]
      hasEndedSecret = was !== undefined && was.secret !== is?.secret
      return changed
    },
    async () => {
      if (hasEndedSecret) await forget?.(kind, name)
    },
  )
  const lines = linesOf(kind, name, findAccount(before, kind, name), findAccount(after, kind, name))
  return { before, after, lines }
}

/** Never with a secret. */
function linesOf(
  kind: AccountKind,
  name: string,
  before: Account | undefined,
  after: Account | undefined,
): AccountLine[] {
  if (before === after) return []
  if (after === undefined) return [{ event: `${kind}_removed`, fields: { account: name } }]
  const scope = scopeOf(after)
  const { grants } = after
  if (before === undefined)
    return [{ event: `${kind}_added`, fields: { account: name, scope, ...(grants && { grants }) } }]
  const lines: AccountLine[] = []
  if (before.secret !== after.secret) {
    const event = kind === 'user' ? 'user_password_changed' : 'client_rotated'
    lines.push({ event, fields: { account: name } })
  }
  const isLimitedAnew = !areSameGrants(before.grants, grants)
  if (scopeOf(before) !== scope || isLimitedAnew)
    lines.push({
      event: `${kind}_changed`,
      fields: { account: name, scope, ...(isLimitedAnew ? { grants: grants ?? null } : {}) },
    })
  return lines
}
