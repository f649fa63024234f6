import { createClient } from './http-client.ts'

/** The path of a record. */
export function pathOf(name: string): string {
  return `/configurations/${encodeURIComponent(name)}`
}

/** Logs in and gives the `Cookie` header of the session. */
export async function logIn(url: string, credentials: unknown): Promise<{ Cookie: string }> {
  const answer = await createClient(url)('POST', '/login', { body: credentials })
  return { Cookie: answer.headers['set-cookie']?.[0]?.split(';')[0] ?? '' }
}

/** Gets a token and gives its `Authorization` header. */
export async function getToken(url: string, credentials: unknown): Promise<{ Authorization: string }> {
  const answer = await createClient(url)('POST', '/v1/auth/token', { body: credentials })
  return { Authorization: `Bearer ${answer.json<{ access_token: string }>().access_token}` }
}
