import { type Fault, InvalidInputError } from '../errors.ts'
import type { Request } from '../http/message.ts'
import { decodePercent } from '../http/url.ts'
import { REASON_CHARACTERS_MAX } from '../limits.ts'
import type { Parameter } from '../openapi/operation.ts'
import { type Actor, senderOf } from '../store/authorship.ts'
import { checkText } from '../text.ts'

const FIELD = 'X-Reason'
/** What a header can carry as it is. */
const ASCII = /^[\x20-\x7e]*$/

/** What the OpenAPI document says of the header. */
export const reasonHeader: Parameter = {
  name: FIELD,
  in: 'header',
  description: `Why, for the audit trail, history and events: percent-encoded UTF-8, up to ${REASON_CHARACTERS_MAX} characters without control characters.`,
  schema: { type: 'string', examples: ['ticket%204711'] },
}

/**
 * Who changes records by a request, and why.
 *
 * @throws {InvalidInputError} for a reason that is not valid; nothing has changed.
 */
export function authorOf(request: Request): Actor {
  if (request.headers['x-reason'] === undefined) return senderOf(request)
  const faults: Fault[] = []
  const author = authorIn(request, faults)
  if (faults.length > 0) throw new InvalidInputError('The change is not valid; nothing has changed', faults)
  return author
}

/** The same; adds a fault for a reason that is not valid. */
export function authorIn(request: Request, faults: Fault[]): Actor {
  const sender = senderOf(request)
  const sent = request.headers['x-reason']
  if (sent === undefined || sent === '') return sender
  const reason = typeof sent === 'string' && ASCII.test(sent) ? decodePercent(sent) : undefined
  const detail =
    reason === undefined ? 'must be percent-encoded UTF-8' : checkText(reason, REASON_CHARACTERS_MAX)
  if (detail !== undefined) faults.push({ field: FIELD, detail })
  return reason === undefined ? sender : { ...sender, reason }
}
