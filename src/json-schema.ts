type TypeName = 'string' | 'integer' | 'number' | 'boolean' | 'object' | 'array' | 'null'

/** A JSON Schema (draft 2020-12), in the words that connbook uses. */
export interface JsonSchema {
  readonly $ref?: string
  readonly title?: string
  /** One line of Markdown. */
  readonly description?: string
  readonly examples?: readonly unknown[]
  readonly type?: TypeName | readonly TypeName[]
  readonly const?: string | number | boolean
  readonly enum?: readonly (string | number)[]
  readonly format?: 'date-time' | 'password' | 'uri' | 'uri-reference'
  /** In Unicode code points. */
  readonly minLength?: number
  readonly maxLength?: number
  /** Has the same meaning with the flag `u` and without it. */
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly items?: JsonSchema
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly minProperties?: number
  readonly maxProperties?: number
  readonly propertyNames?: JsonSchema
  readonly additionalProperties?: boolean | JsonSchema
  readonly allOf?: readonly JsonSchema[]
  readonly anyOf?: readonly JsonSchema[]
}
