import '../support/node-version.ts'
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { Problem } from '../../src/http/problem.ts'
import { BODY_BYTES_MAX } from '../../src/limits.ts'
import { Scheduler } from '../../src/scheduler.ts'
import { IncomingRequest } from '../../src/server/incoming-request.ts'
import { caller } from '../support/message.ts'
import { holdFor, holdLaterFor } from '../support/properties/hold-property.ts'
import { headerText, joined } from '../support/properties/texts.ts'
import { incomingOf } from './incoming-of.ts'

const noResponse = {} as ServerResponse
const bodyParts = () => ({ scheduler: new Scheduler(), arriving: { add: () => () => {} } })

describe('a request', () => {
  it('has its target split at the first question mark', (t) => {
    holdFor(t, joined(['/', 'a', '?', '??', '%3f', '&', '='], headerText), (url) => {
      const { path, query } = new IncomingRequest(
        incomingOf({ url }),
        noResponse,
        caller,
        caller.requestId,
        bodyParts(),
      )
      assert.equal(path.includes('?'), false)
      assert.equal(path + (url.includes('?') ? '?' : '') + query, url)
    })
  })

  const source = Buffer.alloc(2 * BODY_BYTES_MAX, 'a body that is told apart at any place. ')
  it('yields its whole body up to the limit, in whatever pieces it comes, and none beyond', async (t) => {
    const size = fc.oneof(
      { weight: 6, arbitrary: fc.nat({ max: 300 }) },
      { weight: 2, arbitrary: fc.integer({ min: BODY_BYTES_MAX - 2, max: BODY_BYTES_MAX + 2 }) },
      { weight: 1, arbitrary: fc.nat({ max: BODY_BYTES_MAX }) },
    )
    const bodies = fc.record({
      size,
      cuts: fc.oneof(
        { weight: 9, arbitrary: fc.array(fc.nat(), { maxLength: 5 }) },
        { weight: 1, arbitrary: fc.array(fc.nat(), { minLength: 60, maxLength: 200 }) },
      ),
      isLengthGiven: fc.boolean(),
    })
    await holdLaterFor(t, bodies, async ({ size, cuts, isLengthGiven }) => {
      const length: [string, string] = ['Content-Length', String(size)]
      const chunked: [string, string] = ['Transfer-Encoding', 'chunked']
      const incoming = incomingOf({ fields: [['Host', 'a'], isLengthGiven ? length : chunked] })
      const reading = new IncomingRequest(
        incoming,
        noResponse,
        caller,
        caller.requestId,
        bodyParts(),
      ).readBody()
      const borders = [0, ...cuts.map((cut) => cut % (size + 1)), size].sort((a, b) => a - b)
      borders.forEach((border, i) => {
        if (i > 0) incoming.emit('data', source.subarray(borders[i - 1], border))
      })
      incoming.emit('end')
      if (size <= BODY_BYTES_MAX) assert.ok((await reading).equals(source.subarray(0, size)))
      else await assert.rejects(reading, (error) => error instanceof Problem && error.status === 413)
    })
  })
})
