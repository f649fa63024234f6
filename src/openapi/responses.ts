import { type ProblemCode, problemTypes } from '../error-types.ts'
import { PROBLEM_TYPE } from '../http/problem.ts'
import type { Route } from '../http/router.ts'
import type { JsonSchema } from '../json-schema.ts'
import { type HeaderName, headers, headersOfAll } from './headers.ts'
import type { Content, Operation, Parameter, ResponseDescription } from './operation.ts'
import { problemUrn, refTo } from './schemas.ts'

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

/** Every answer of a route, by status. */
export function responsesOf(
  route: DescribedRoute,
  components: Components,
): Record<number, Response | Reference> {
  const { answers } = route.operation
  const own = Object.entries(answers).map(([status, answer]) => [status, answerOf(answer, components)])
  return { ...unchanged(route, components), ...Object.fromEntries(own), ...problems(route, components) }
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

/** A 304 has the headers of the 200 (RFC 9110 section 15.4.5), unless the operation says which. */
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

interface Reference {
  readonly $ref: string
}

interface Response {
  readonly description: string
  readonly headers: Readonly<Record<string, Reference>>
  readonly content?: MediaTypes
}

type MediaTypes = Readonly<Record<string, { readonly schema: JsonSchema }>>

type Kind = 'headers' | 'parameters' | 'responses'

/** The parts of a document that several calls share; each is in it once, and only if a call refers to it. */
export class Components {
  readonly found: Record<Kind, Record<string, object>> = { headers: {}, parameters: {}, responses: {} }

  /** @param names With `?`, the header may be absent. */
  headers(names: readonly (HeaderName | `${HeaderName}?`)[]): Record<string, Reference> {
    const entries = names.map((spelling) => {
      const name = spelling.replace(/\?$/, '') as HeaderName
      const isRequired = name === spelling
      const header = { ...headers[name], ...(isRequired ? { required: true } : {}) }
      return [name, this.#refer('headers', isRequired ? name : `${name}-or-none`, header)]
    })
    return Object.fromEntries(entries)
  }

  /** Those of a query mean something else for each call. */
  parameter({
    name,
    in: place,
    component = name,
    description,
    isRequired,
    isRepeated,
    schema,
  }: Parameter): object {
    const value = {
      name,
      in: place,
      description,
      ...(isRequired || place === 'path' ? { required: true } : {}),
      ...(isRepeated ? { style: 'form', explode: true } : {}),
      schema,
    }
    return place === 'query' ? value : this.#refer('parameters', `${place}-${component}`, value)
  }

  response(name: string, value: Response): Reference {
    return this.#refer('responses', name, value)
  }

  /** @throws {Error} if two different things have a name. */
  #refer(kind: Kind, name: string, value: object): Reference {
    const known = this.found[kind][name]
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(value))
      throw new Error(`Two different ${kind} of the OpenAPI document are named "${name}"`)
    this.found[kind][name] = value
    return { $ref: `#/components/${kind}/${name}` }
  }
}

export function mediaTypes(content: Content): MediaTypes {
  return Object.fromEntries(Object.entries(content).map(([type, schema]) => [type, { schema }]))
}

export type DescribedRoute = Omit<Route, 'handle'> & {
  readonly summary: string
  readonly operation: Operation
  readonly isThereAtStart?: boolean
  readonly needsNoState?: true
}

/** Those that answer before, or instead of, the route; never in the form of its `problemReply`. */
export function problemsBefore({ isThereAtStart }: DescribedRoute): ProblemCode[] {
  return isThereAtStart ? [...ofMessages] : [...ofMessages, 'starting']
}

/** Those of a route itself. */
export function problemsOf(route: DescribedRoute): ProblemCode[] {
  const { method, path, access, limits, operation, isThereAtStart, needsNoState } = route
  const { parameters = [], isConditional, body, problems = [] } = operation
  const codes: ProblemCode[] = ['internal']
  const add = (isSo: boolean | undefined, ...more: ProblemCode[]) => isSo && codes.push(...more)
  add(path.includes(':'), 'malformed_path')
  // A node answers this when it is cut off from its cluster for too long.
  add(!isThereAtStart && !needsNoState, 'storage_unavailable')
  add(access !== 'public', 'not_authenticated', 'invalid_token')
  add(method !== 'GET', 'cross_site')
  add(access === 'write', 'insufficient_scope', ...ofChanges)
  add(access === 'admin', 'insufficient_scope')
  const isLimited = limits === 'refused' || (limits === 'records' && access === 'write')
  add(isLimited && access !== 'public', 'not_granted')
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
function byStatus(codes: readonly ProblemCode[]): Map<number, ProblemCode[]> {
  const known = Object.keys(problemTypes) as ProblemCode[]
  return Map.groupBy(
    known.filter((code) => codes.includes(code)),
    (code) => problemTypes[code].status,
  )
}
