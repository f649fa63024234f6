import { type Fault, InvalidInputError } from '../errors.ts'
import type { CommandPrincipal, Request } from '../http/message.ts'
import { ownerHeaders } from '../http/owner-headers.ts'
import { FULL_SCOPE } from '../http/scope.ts'
import { decodePercent } from '../http/url.ts'
import { ACCOUNT_NAME_CHARACTERS_MAX, COMMAND_CHARACTERS_MAX } from '../limits.ts'
import { systemAccount } from '../system-account.ts'
import { checkText } from '../text.ts'

/** Stands for the command of a caller that names none, such as curl. */
const NO_COMMAND = 'http'

/**
 * Who calls on the owner's socket, as its headers say. Nobody else can open the socket, so they are believed.
 *
 * @throws {InvalidInputError} if a header is not a name.
 */
export function readOwner({ headers }: Pick<Request, 'headers'>): CommandPrincipal {
  const faults: Fault[] = []
  const read = (field: string, charactersMax: number) => {
    const sent = headers[field]
    if (sent === undefined) return undefined
    const name = typeof sent === 'string' ? decodePercent(sent) : undefined
    const detail =
      name === undefined ? 'must be percent-encoded UTF-8, given once' : checkText(name, charactersMax)
    if (detail !== undefined) faults.push({ field, detail })
    return name
  }
  const account = read(ownerHeaders.account, ACCOUNT_NAME_CHARACTERS_MAX)
  const command = read(ownerHeaders.command, COMMAND_CHARACTERS_MAX)
  if (faults.length > 0) throw new InvalidInputError('The headers of the owner are not valid', faults)
  return {
    kind: 'command',
    name: account ?? systemAccount(),
    command: command ?? NO_COMMAND,
    scope: FULL_SCOPE,
  }
}
