import assert from 'node:assert/strict'
import { IMPORT_BYTES_MAX } from '../../src/limits.ts'
import { getToken } from '../support/api.ts'
import { createClient } from '../support/http-client.ts'
import { client } from '../support/service.ts'
import type { Site } from './site-checks.ts'

/** @param more What each row's user name ends with. */
export function rowsOf(rows: number, more = ''): string {
  const lines = Array.from({ length: rows }, (_, i) => `r${i},h.example,22,ops${more}\n`)
  return `name,hostname,port,username\n${lines.join('')}`
}

/** Imports so many rows in a file of so many bytes through a proxy, and one that is too long. */
export async function checkImports({ url }: Site, rows: number, bytes: number): Promise<void> {
  const headers = await getToken(url, client)
  const importFile = (bytes: number) =>
    createClient(url, headers)('POST', '/v1/import?format=csv', { body: rowsOf(rows).padEnd(bytes, '\n') })
  assert.equal((await importFile(IMPORT_BYTES_MAX + 1)).status, 413)
  const long = await importFile(bytes)
  assert.equal(long.status, 200, long.text)
  assert.equal(long.json<{ added: number }>().added, rows)
}
