// A client on the types that openapi-typescript makes of the document; typed-client.system.test.ts compiles and runs it.
import createClient from 'openapi-fetch'
import type { components, paths } from './openapi.d.ts'

type Configuration = components['schemas']['Configuration']

const [url = '', client_id = '', client_secret = ''] = process.argv.slice(2)

const stranger = createClient<paths>({ baseUrl: url })
const issued = await stranger.POST('/v1/auth/token', { body: { client_id, client_secret } })
if (issued.data === undefined)
  throw new Error('error_description' in issued.error ? issued.error.error_description : issued.error.detail)
const token: string = issued.data.access_token

const client = createClient<paths>({ baseUrl: url, headers: { Authorization: `Bearer ${token}` } })
const params = { path: { name: 'db/main' } }

const added = await client.POST('/configurations', {
  body: { name: 'db/main', hostname: '192.0.2.7', port: 5432, username: 'postgres' },
})
const record: Configuration | undefined = added.data?.configurations[0]
const taken = await client.POST('/configurations', {
  body: { name: 'db/main', hostname: '::1', port: 1, username: 'x' },
})
const holder: readonly Configuration[] =
  taken.error !== undefined && 'configurations' in taken.error ? taken.error.configurations : []
const modified = await client.PATCH('/configurations/{name}', { params, body: { port: 5433 } })
const listed = await client.GET('/configurations', {
  params: { query: { sort: '-name', page: 0, per_page: 10 } },
})
const removed = await client.DELETE('/configurations/{name}', { params })
const gone = await client.GET('/configurations/{name}', { params })
const problem: components['schemas']['Problem'] | undefined = gone.error

console.log(
  JSON.stringify({
    record,
    holder: holder.map(({ name }) => name),
    port: modified.data?.configurations[0]?.port,
    listed: listed.data?.configurations.map(({ name }) => name),
    removed: removed.response.status,
    problem: problem?.type,
  }),
)

/** What the types refuse; never called. */
export async function refused() {
  // @ts-expect-error: there is no such path
  await client.GET('/configuration')
  // @ts-expect-error: a port is a number
  await client.PATCH('/configurations/{name}', { params, body: { port: '22' } })
  // @ts-expect-error: the username is missing
  await client.POST('/configurations', { body: { name: 'a', hostname: 'b', port: 1 } })
  // @ts-expect-error: no order of this name
  await client.GET('/configurations', { params: { query: { sort: 'color' } } })
  // @ts-expect-error: a record has no color
  return listed.data?.configurations[0]?.color
}
