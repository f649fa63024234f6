import { conditionIn } from '../http/header-fields.ts'
import type { Request } from '../http/message.ts'
import type { Configuration } from '../store/configuration.ts'
import type { Expectation } from '../store/single-change.ts'

/** What the conditions of a request say of the record that is there; undefined without any. @throws {Problem} 400. */
export function expectation({ headers }: Request): Expectation | undefined {
  const holds = conditionIn(headers)
  return holds && (({ etag }) => holds(etag))
}

/** As `expectation`, where there may be no record: then any `If-Match` fails, and any `If-None-Match` holds. */
export function existence(request: Request): ((record: Configuration | undefined) => boolean) | undefined {
  const isExpectedRecord = expectation(request)
  if (isExpectedRecord === undefined) return undefined
  const mustExist = request.headers['if-match'] !== undefined
  return (record) => (record === undefined ? !mustExist : isExpectedRecord(record))
}
