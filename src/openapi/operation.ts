import type { ProblemCode } from '../error-types.ts'
import type { JsonSchema } from '../json-schema.ts'
import type { HeaderName } from './headers.ts'

/** The groups of calls, in the order of the document. */
export const tags = {
  configurations: 'List, read, add, change and delete records.',
  exchange: 'Many records at once, also in the formats of other tools.',
  credentials: 'Get a session or a token, and end it.',
  accounts: 'Who may do what; for admins.',
  operation: 'Health, metrics, this description, and the console for browsers.',
} as const

/** What the OpenAPI document says of a route, besides what follows from the route itself. */
export interface Operation {
  /** Names the call in clients that are made from the document; unique, such as `listConfigurations`. */
  readonly id: string
  readonly tag: TagName
  /** Sentences of Markdown about what the schemas cannot state. */
  readonly notes?: string
  /** Parameters of the query and the path. An operation with one in the query answers an invalid query with 400. */
  readonly parameters?: readonly Parameter[]
  /** Takes `If-Match` and `If-None-Match`: adds both, 412, and for GET 304. */
  readonly isConditional?: boolean
  readonly body?: Body
  /** Answers that are not problems, by status. */
  readonly answers: Readonly<Record<number, ResponseDescription>>
  /** Besides those that follow from method, path, access and body. */
  readonly problems?: readonly ProblemCode[]
}

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  /** Tells it apart in the document from another header of the same name. */
  readonly component?: string
  readonly description: string
  readonly isRequired?: boolean
  /** Whether the schema is of an array with one item for each time that the parameter is given. */
  readonly isRepeated?: boolean
  readonly schema: JsonSchema
}

export interface Body {
  /** By media type, the usual one first. */
  readonly content: Content
  readonly description?: string
  /** Larger ones are answered 413. */
  readonly bytesMax: number
  /** Whether it must be a JSON object, so that other bodies have problems of their own. */
  readonly isJsonObject?: boolean
}

export interface ResponseDescription {
  readonly description: string
  /** Besides those of every answer; with `?`, it may be absent. */
  readonly headers?: readonly (HeaderName | `${HeaderName}?`)[]
  /** Undefined: no body. */
  readonly content?: Content
}

/** Schemas by media type without parameters. */
export type Content = Readonly<Record<string, JsonSchema>>

type TagName = keyof typeof tags
