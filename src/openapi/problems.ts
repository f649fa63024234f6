import { type ProblemCode, problemTypes } from '../http/problem-types.ts'
import type { Route } from '../http/router.ts'
import type { Operation } from './operation.ts'

export type DescribedRoute = Omit<Route, 'handle'> & {
  readonly summary: string
  readonly operation: Operation
  readonly isThereAtStart?: boolean
  readonly needsNoState?: true
}

/** Problems of messages that never reach a route; their answers have one form for all routes. */
const ofMessages: readonly ProblemCode[] = [
  'malformed_target',
  'malformed_request',
  'malformed_host',
  'missing_host',
  'doubled_header',
  'unsupported_version',
  'unsupported_transfer_coding',
  'request_timeout',
  'body_too_large',
  'target_too_long',
  'unknown_expectation',
  'header_too_large',
]

const ofBodies: readonly ProblemCode[] = [
  'body_too_large',
  'unsupported_type',
  'unsupported_charset',
  'unsupported_encoding',
  'invalid_utf8',
]

const ofChanges: readonly ProblemCode[] = [
  'overloaded',
  'storage_unavailable',
  'storage_full',
  'memory_full',
  'outcome_unknown',
]

/** Those that answer before, or instead of, the route; never in the form of its `problemReply`. */
export function problemsBefore({ isThereAtStart }: DescribedRoute): ProblemCode[] {
  return isThereAtStart ? [...ofMessages] : [...ofMessages, 'starting']
}

/** Those of a route itself. */
export function problemsOf(route: DescribedRoute): ProblemCode[] {
  const { method, path, access, operation, isThereAtStart, needsNoState } = route
  const { parameters = [], isConditional, body, problems = [] } = operation
  const codes: ProblemCode[] = ['internal']
  const add = (isSo: boolean | undefined, ...more: ProblemCode[]) => isSo && codes.push(...more)
  add(path.includes(':'), 'malformed_path')
  // A node answers this when it is cut off from its cluster for too long.
  add(!isThereAtStart && !needsNoState, 'storage_unavailable')
  add(access !== 'public', 'not_authenticated', 'invalid_token')
  add(method !== 'GET', 'cross_site')
  add(access === 'write', 'insufficient_scope', ...ofChanges)
  add(body !== undefined, ...ofBodies)
  add(body?.isJsonObject, 'empty_body', 'invalid_json', 'not_an_object', 'invalid_input')
  add(
    parameters.some((parameter) => parameter.in === 'query'),
    'invalid_input',
  )
  add(isConditional, 'stale_record')
  add(isConditional && method !== 'GET', 'malformed_condition')
  return [...new Set([...codes, ...problems])]
}

/** Groups codes by the status of their answers; both in the order of the table. */
export function byStatus(codes: readonly ProblemCode[]): Map<number, ProblemCode[]> {
  const known = Object.keys(problemTypes) as ProblemCode[]
  return Map.groupBy(
    known.filter((code) => codes.includes(code)),
    (code) => problemTypes[code].status,
  )
}
