import { type Api, type ApiResponse, tagIn } from './api.ts'

export type Labels = Readonly<Record<string, string>>

/** A record, as the API shows it. */
export interface Configuration {
  readonly id: number
  readonly name: string
  readonly hostname: string
  readonly port: number
  readonly username: string
  readonly labels?: Labels
}

export const fieldNames = ['name', 'hostname', 'port', 'username'] as const
export type FieldName = (typeof fieldNames)[number]

/** Makes something for each field. */
export function ofFields<Made>(make: (field: FieldName) => Made): Record<FieldName, Made> {
  const [name, hostname, port, username] = [make('name'), make('hostname'), make('port'), make('username')]
  return { name, hostname, port, username }
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

export function taggedIn(answer: ApiResponse): Tagged {
  const [configuration] = configurationsIn(answer.text)
  if (configuration === undefined) throw new TypeError('The answer has no configuration')
  return { configuration, tag: tagIn(answer) }
}

export function configurationsIn(text: string): readonly Configuration[] {
  return (JSON.parse(text) as { configurations: readonly Configuration[] }).configurations
}
