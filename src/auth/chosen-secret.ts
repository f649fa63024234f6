import { CHOSEN_SECRET_CHARACTERS_MIN, PASSWORD_BYTES_MAX, PASSWORD_CHARACTERS_MIN } from '../limits.ts'
import type { AccountKind } from './accounts.ts'

/**
 * What is wrong with a password of a user, or a secret of a client, that somebody chooses. Those that are stored already
 * stay good.
 *
 * @param name Of the account, if it is known.
 * @returns The end of a sentence that begins with "it"; undefined if nothing is wrong.
 */
export function faultOfChosen(kind: AccountKind, secret: string, name?: string): string | undefined {
  const charactersMin = kind === 'user' ? PASSWORD_CHARACTERS_MIN : CHOSEN_SECRET_CHARACTERS_MIN
  if ([...secret].length < charactersMin)
    return `is shorter than ${charactersMin} characters; choose a longer one`
  if (Buffer.byteLength(secret) > PASSWORD_BYTES_MAX)
    return `is longer than ${PASSWORD_BYTES_MAX} bytes; choose a shorter one`
  if (secret !== name) return undefined
  return kind === 'user'
    ? 'is the name of the user; choose another'
    : 'is the id of the client; choose another'
}
