import assert from 'node:assert/strict'
import { createClient } from '../support/http-client.ts'
import { start, type TestService } from '../support/service.ts'
import type { Lifetime } from '../support/temporary-folder.ts'
import { Samples } from './scrape.ts'

/** A service with public metrics, and a caller with a token. */
export async function measured(t: Lifetime, options: Parameters<typeof start>[1] = {}) {
  const service = await start(t, { ...options, flags: ['--metrics-public', ...(options.flags ?? [])] })
  const Authorization = await service.bearer()
  return { service, headers: { Authorization }, ask: createClient(service.url, { Authorization }) }
}

export async function scrape(service: TestService): Promise<Samples> {
  const answer = await createClient(service.url)('GET', '/metrics')
  assert.equal(answer.status, 200)
  return new Samples(answer.text)
}
