import assert from 'node:assert/strict'
import { METRICS_KEPT_MS } from '../../src/resources/metrics.ts'
import { holdClock } from '../support/held-clock.ts'
import { createClient } from '../support/http-client.ts'
import { start } from '../support/service.ts'
import type { Lifetime } from '../support/temporary-folder.ts'
import { Samples } from './scrape.ts'

/** A service with public metrics, and a caller with a token. Its clock is held. */
export async function measured(t: Lifetime, options: Parameters<typeof start>[1] = {}) {
  const clock = holdClock()
  const flags = ['--metrics-public', ...(options.flags ?? [])]
  const service = await start(t, { clock, ...options, flags })
  const Authorization = await service.bearer()
  const stranger = createClient(service.url)
  /** The metrics of now, not those that are kept. */
  const scrape = async () => {
    clock.advance(METRICS_KEPT_MS)
    const answer = await stranger('GET', '/metrics')
    assert.equal(answer.status, 200)
    return new Samples(answer.text)
  }
  return { service, headers: { Authorization }, ask: createClient(service.url, { Authorization }), scrape }
}
