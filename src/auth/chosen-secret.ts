import { CHOSEN_SECRET_CHARACTERS_MIN, PASSWORD_BYTES_MAX, PASSWORD_CHARACTERS_MIN } from '../limits.ts'
import type { AccountKind } from './accounts.ts'

/** Both are invisible, but belong to words of some scripts, and to emoji. */
const JOINERS = '\\u200c\\u200d'
const INVISIBLE = new RegExp(`(?![${JOINERS}])[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}]`, 'u')
const BLANK_AT_AN_END = new RegExp(`^[\\s${JOINERS}]|[\\s${JOINERS}]$`, 'u')

/**
 * What is wrong with a password of a user, or a secret of a client, that somebody chooses. Those that are stored already
 * stay good.
 *
 * @param name Of the account, if it is known.
 * @returns The end of a sentence that begins with "it"; undefined if nothing is wrong.
 */
export function faultOfChosen(kind: AccountKind, secret: string, name?: string): string | undefined {
  const unseen = faultOfUnseen(secret)
  if (unseen !== undefined) return unseen
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

/** An invisible character is nearly always an accident, and locks out everybody who types what can be seen. */
function faultOfUnseen(secret: string): string | undefined {
  if (/[\r\n]/.test(secret)) return 'has more than one line; give one line'
  const [invisible] = INVISIBLE.exec(secret) ?? []
  if (invisible !== undefined) return `has an invisible character, ${codePointOf(invisible)}; leave it out`
  const [blank] = BLANK_AT_AN_END.exec(secret) ?? []
  return blank && `begins or ends with white space, ${codePointOf(blank)}; leave it out`
}

function codePointOf(character: string): string {
  return `U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}`
}
