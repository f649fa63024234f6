import { findThrough, throughQuery, throughSentence } from '../exchange/hops.ts'
import type { Labels } from '../store/labels.ts'
import { type Api, type ApiResponse, tagIn } from './api.ts'

/** One field of a record. */
export interface Field {
  readonly name: string
  readonly heading: string
  /** Attributes of its input. */
  readonly input: { readonly placeholder: string; readonly inputmode?: string }
  readonly isNumber?: true
  /** Whether a record may do without. */
  readonly isOptional?: true
}

/** The fields of a record, in the order of list and form. */
export const fields = [
  { name: 'name', heading: 'Name', input: { placeholder: 'web1' } },
  { name: 'hostname', heading: 'Hostname', input: { placeholder: 'web1.example.net', inputmode: 'url' } },
  { name: 'port', heading: 'Port', input: { placeholder: '22', inputmode: 'numeric' }, isNumber: true },
  { name: 'username', heading: 'Username', input: { placeholder: 'deploy' } },
] as const satisfies Field[]

type Row = (typeof fields)[number]
type Optional = Extract<Row, { isOptional: true }>
type Value<Of> = Of extends { isNumber: true } ? number : string

export type FieldName = Row['name']
export const fieldNames: readonly FieldName[] = fields.map(({ name }) => name)

/** A record, as the API shows it. */
export type Configuration = { readonly id: number; readonly labels?: Labels } & {
  readonly [One in Exclude<Row, Optional> as One['name']]: Value<One>
} & { readonly [One in Optional as One['name']]?: Value<One> }

/** Makes something for each field. */
export function ofFields<Made>(make: (field: Row) => Made): Record<FieldName, Made> {
  return Object.fromEntries(fields.map((field) => [field.name, make(field)])) as Record<FieldName, Made>
}

/** A record and the tag that its changes are sent with. */
export interface Tagged {
  readonly configuration: Configuration
  readonly tag: string
}

export function configurationPath(name: string): string {
  return `configurations/${encodeURIComponent(name)}`
}

/** @throws As `Api.call`. */
export async function readConfiguration(api: Api, name: string): Promise<Tagged> {
  return taggedIn(await api.call(configurationPath(name)))
}

/** Undefined for a name that no record has. @throws As `Api.call`. */
export async function findConfiguration(api: Api, name: string): Promise<Configuration | undefined> {
  const answer = await api.call(configurationPath(name), { expects: [404] })
  return answer.status === 404 ? undefined : taggedIn(answer).configuration
}

/** Counts and names the records that go through this one; undefined if none does. @throws As `Api.call`. */
export async function describeThrough(api: Api, name: string): Promise<string | undefined> {
  const answer = await api.call(`configurations/?${throughQuery(name)}`)
  const records = configurationsIn(answer.text)
  return throughSentence(await findThrough(name, records, (hop) => findConfiguration(api, hop)))
}

export function taggedIn(answer: ApiResponse): Tagged {
  const [configuration] = configurationsIn(answer.text)
  if (configuration === undefined) throw new TypeError('The answer has no configuration')
  return { configuration, tag: tagIn(answer) }
}

export function configurationsIn(text: string): readonly Configuration[] {
  return (JSON.parse(text) as { configurations: readonly Configuration[] }).configurations
}
