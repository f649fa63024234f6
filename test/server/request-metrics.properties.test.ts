import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { METHODS } from 'node:http'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { routes } from '../../src/resources/routes.ts'
import { measured } from '../metrics/measured.ts'
import { casesOfSlow, holdLaterFor } from '../support/properties/hold-property.ts'

const TOTAL = 'connbook_http_requests_total'

describe('requests of any method and path', () => {
  it('cannot create more samples than there are routes, methods and statuses', async (t) => {
    const { ask, scrape } = await measured(t)
    const methods = fc.constantFrom(...METHODS.filter((method) => method !== 'CONNECT'))
    const segments = fc.oneof(
      fc.constantFrom('configurations', 'login', 'healthz', 'metrics', 'v1', '', '__proto__', '%ff', 'none'),
      fc.string().map(encodeURIComponent),
    )
    const paths = fc.array(segments, { maxLength: 4 }).map((all) => `/${all.join('/')}`)
    let answers = 0
    const askOnce = async ([method, path]: [string, string]) => {
      await ask(method, path)
      answers += 1
    }
    await holdLaterFor(t, fc.tuple(methods, paths), askOnce, casesOfSlow(200, 5_000))
    const counts = Object.entries((await scrape()).of(TOTAL))
    // The token request is counted too.
    assert.equal(
      counts.reduce((sum, [, count]) => sum + count, 0),
      answers + 1,
    )
    const patterns = ['none', ...routes.map(({ path }) => path)]
    const counted = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'other']
    for (const [series] of counts) {
      const [, route = '', method = ''] =
        /^\{route="([^"]*)",method="([^"]*)",status="\d{3}"\}$/.exec(series) ?? []
      assert.ok(patterns.includes(route) && counted.includes(method), series)
    }
    assert.ok(counts.some(([series]) => series.includes('method="other"')))
  })
})
