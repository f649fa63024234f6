import assert from 'node:assert/strict'
import { getToken, logIn } from '../support/api.ts'
import { createClient, type Headers } from '../support/http-client.ts'
import { admin, client } from '../support/service.ts'

/** Whether a server accepts a session or token. */
export async function isGood(url: string, headers: Headers): Promise<boolean> {
  const { status } = await createClient(url, headers)('GET', '/configurations/')
  assert.ok([200, 403].includes(status), String(status))
  return status === 200
}

/** Which of them a server accepts. */
export function areGood(url: string, all: readonly Headers[]): Promise<boolean[]> {
  return Promise.all(all.map((headers) => isGood(url, headers)))
}

/** A session of `admin` and a token of `client`. */
export async function newCredentials(url: string) {
  return [await logIn(url, admin), await getToken(url, client)] as const
}
