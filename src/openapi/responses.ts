import { PROBLEM_TYPE } from '../http/problem.ts'
import { type ProblemCode, problemTypes } from '../http/problem-types.ts'
import type { JsonSchema } from '../json-schema.ts'
import { type Components, mediaTypes, type Reference, type Response } from './components.ts'
import { type HeaderName, headersOfAll } from './headers.ts'
import type { ResponseDescription } from './operation.ts'
import { byStatus, type DescribedRoute, problemsBefore, problemsOf } from './problems.ts'
import { problemUrn, refTo } from './schemas.ts'

/** Every answer of a route, by status. */
export function responsesOf(
  route: DescribedRoute,
  components: Components,
): Record<number, Response | Reference> {
  const { answers } = route.operation
  const own = Object.entries(answers).map(([status, answer]) => [status, answerOf(answer, components)])
  return { ...Object.fromEntries(own), ...unchanged(route, components), ...problems(route, components) }
}

function answerOf(
  { description, headers = [], content }: ResponseDescription,
  components: Components,
): Response {
  return {
    description,
    headers: components.headers([...headersOfAll, ...headers]),
    ...(content === undefined ? {} : { content: mediaTypes(content) }),
  }
}

/** A 304 has the headers of the 200 (RFC 9110 section 15.4.5). */
function unchanged({ method, operation }: DescribedRoute, components: Components) {
  const found = operation.answers[200]
  if (method !== 'GET' || !operation.isConditional || found === undefined) return {}
  const { headers = [] } = found
  return { 304: answerOf({ description: 'It still has the tag of `If-None-Match`.', headers }, components) }
}

function problems(route: DescribedRoute, components: Components): Record<number, Reference> {
  const before = problemsBefore(route)
  const all = byStatus([...before, ...problemsOf(route)])
  return Object.fromEntries(
    Array.from(all, ([status, codes]) => {
      const isOwnForm = route.problemReply !== undefined
      return [status, problemsOfStatus(status, codes, before, isOwnForm, components)]
    }),
  )
}

/** @param isOwnForm Whether all but those `before` have the form of RFC 6749. */
function problemsOfStatus(
  status: number,
  codes: readonly ProblemCode[],
  before: readonly ProblemCode[],
  isOwnForm: boolean,
  components: Components,
): Reference {
  const ofRoute = codes.filter((code) => !before.includes(code) && code !== 'internal')
  const asProblems = isOwnForm ? codes.filter((code) => before.includes(code)) : codes
  const isToken = isOwnForm && codes.some((code) => !before.includes(code) || code === 'body_too_large')
  const name = [...(isToken ? ['token'] : []), status, ...ofRoute].join('-')
  return components.response(name, {
    description: codes.map((code) => `\`${code}\`: ${problemTypes[code].meaning}.`).join(' '),
    headers: components.headers([
      ...headersOfAll,
      ...headersOf(status, codes),
      ...(isToken ? (['Pragma?'] as const) : []),
    ]),
    content: mediaTypes({
      ...(isToken ? { 'application/json': refTo('TokenError') } : {}),
      ...(asProblems.length > 0 ? { [PROBLEM_TYPE]: problemOneOf(status, asProblems) } : {}),
    }),
  })
}

function headersOf(status: number, codes: readonly ProblemCode[]): (HeaderName | `${HeaderName}?`)[] {
  // A client that sent its secret in the body gets no challenge.
  if (status === 401) return ['WWW-Authenticate?']
  if (status === 403) return ['WWW-Authenticate']
  // Such a change must not be repeated before the record was read.
  if (codes.includes('outcome_unknown')) return ['Retry-After?']
  return status === 429 || status === 503 ? ['Retry-After'] : []
}

function problemOneOf(status: number, codes: readonly ProblemCode[]): JsonSchema {
  const type: JsonSchema = { type: 'string', enum: codes.map(problemUrn) }
  const narrowed: JsonSchema = {
    type: 'object',
    properties: { type, status: { type: 'integer', const: status } },
  }
  return { allOf: [refTo('Problem'), narrowed] }
}
