import type { JsonSchema } from '../json-schema.ts'
import { type HeaderName, headers } from './headers.ts'
import type { Content, Parameter } from './operation.ts'

export interface Reference {
  readonly $ref: string
}

export interface Response {
  readonly description: string
  readonly headers: Readonly<Record<string, Reference>>
  readonly content?: MediaTypes
}

export type MediaTypes = Readonly<Record<string, { readonly schema: JsonSchema }>>

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
  parameter({ name, in: place, description, isRequired, isRepeated, schema }: Parameter): object {
    const value = {
      name,
      in: place,
      description,
      ...(isRequired || place === 'path' ? { required: true } : {}),
      ...(isRepeated ? { style: 'form', explode: true } : {}),
      schema,
    }
    return place === 'query' ? value : this.#refer('parameters', `${place}-${name}`, value)
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
