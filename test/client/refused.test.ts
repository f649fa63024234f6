import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { socketEndpoint } from '../../src/client/endpoint.ts'
import {
  CALL_PAUSE_MS_MIN,
  CALL_RETRY_MS,
  callPatiently,
  OtherAnswerError,
  RefusedError,
  refusalOf,
  retryAfterMs,
  tokenRefusalOf,
} from '../../src/client/refused.ts'

const endpoint = socketEndpoint('/s')
const refusal = (status: number, body: unknown, headers = {}) =>
  refusalOf({ status, headers, text: typeof body === 'string' ? body : JSON.stringify(body) }, endpoint)

describe('a refusal', () => {
  it("has the server's own words, its problem and its faults", () => {
    const fault = { field: 'port', detail: 'must be an integer' }
    const type = 'urn:connbook:problem:invalid_input'
    const error = refusal(400, { type, detail: 'Not valid', errors: [fault, { field: 1 }, null, 'x'] })
    assert.ok(error instanceof RefusedError)
    const { message, status, problem, faults } = error
    assert.deepEqual([message, status, problem, faults], ['Not valid', 400, 'invalid_input', [fault]])
  })

  it('takes one line and controls no terminal, whatever the server says', () => {
    const rows = [
      [refusal(400, { detail: 'a\n\u001b[2Jb' }), 'a\\u000a\\u001b[2Jb'],
      [
        refusal(302, '', { location: 'http://x/\u202e' }),
        'unix:/s sends on to http://x/\\u202e (302), where no credential is sent; name the server that is meant',
      ],
      [refusal(409, { configurations: [{ name: 'a\u202e' }] }), 'The name is taken by {"name":"a\\u202e"}'],
    ] as const
    for (const [error, message] of rows) assert.equal(error.message, message)
  })

  it('says of a redirect that the server is another, also without saying which', () => {
    const error = refusal(308, 'x')
    assert.ok(error instanceof OtherAnswerError)
    assert.match(error.message, /^unix:\/s sends on \(308\), where no credential is sent/)
  })

  it('says which record has the name, as far as the answer does', () => {
    for (const body of ['', 'null', '[]', { configurations: 'x' }]) {
      const error = refusal(409, body)
      assert.ok(error instanceof RefusedError)
      assert.deepEqual([error.message, error.problem], ['unix:/s answers 409', 'name_taken'])
    }
    const unseen = refusal(409, { configurations: [] })
    assert.equal(
      unseen.message,
      'The name is taken by a record that this account does not see; choose another name',
    )
  })

  it('says that an answer does not come from a connbook', () => {
    for (const body of ['', '<html>', 'null', '"x"', { detail: 1 }, { error: 'x' }]) {
      const error = refusal(502, body)
      assert.ok(error instanceof RefusedError)
      const { message, status, problem, faults } = error
      assert.equal(message, 'unix:/s answers 502, and nothing that a connbook says')
      assert.deepEqual([status, problem, faults], [502, undefined, []])
    }
    const other = refusal(400, { detail: 'x', type: 'about:blank' })
    assert.ok(other instanceof RefusedError && other.problem === undefined)
  })
})

describe('a refusal of the token endpoint', () => {
  const messageOf = (status: number, body: unknown, headers = {}) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const error = tokenRefusalOf({ status, headers, text }, endpoint)
    assert.ok(error instanceof RefusedError && error.status === status)
    return error.message
  }

  it("has the server's words, its error and the time to wait", () => {
    const error_description = 'The client is unknown or its secret is wrong'
    assert.equal(
      messageOf(401, { error: 'invalid_client', error_description }),
      `No token from unix:/s: ${error_description} (invalid_client); see CONNBOOK_LOGIN_CLIENT_ID and CONNBOOK_LOGIN_CLIENT_SECRET`,
    )
    assert.equal(messageOf(400, { error: 'invalid_scope' }), 'No token from unix:/s: invalid_scope')
    const busy = { error: 'temporarily_unavailable', error_description: 'Too many; try again in 40 s' }
    const told = 'No token from unix:/s: Too many; try again in 40 s (temporarily_unavailable)'
    assert.equal(messageOf(429, busy, { 'retry-after': '40' }), told)
    assert.equal(
      messageOf(429, { error: 'slow_down' }, { 'retry-after': '40' }),
      'No token from unix:/s: slow_down; try again in 40 s',
    )
    assert.equal(messageOf(400, { error: 'a\n\u001b' }), 'No token from unix:/s: a\\u000a\\u001b')
  })

  it('is that of any other call when the answer is not in the form of OAuth', () => {
    assert.equal(messageOf(503, { detail: 'Not yet' }), 'Not yet')
    assert.equal(messageOf(502, '<html>'), 'unix:/s answers 502, and nothing that a connbook says')
  })
})

const DATE = 'Wed, 21 Oct 2026 07:28:00 GMT'

const answer = (status: number, retryAfter?: string) => ({
  status,
  headers: retryAfter === undefined ? {} : { 'retry-after': retryAfter, date: DATE },
  text: '',
})

/** Gives the answers one by one, the last one again and again; records the pauses. */
function setUp(answers: readonly ReturnType<typeof answer>[]) {
  const pauses: number[] = []
  let [calls, now] = [0, 0]
  const patience = {
    now: () => now,
    pause: async (ms: number) => {
      pauses.push(ms)
      now += ms
    },
  }
  const call = async () => {
    calls += 1
    return answers[Math.min(calls, answers.length) - 1] ?? assert.fail('there is no answer')
  }
  return { run: () => callPatiently(call, undefined, patience), pauses, calls: () => calls }
}

describe('callPatiently', () => {
  it('repeats a call that is answered 429 or 503, after the time of Retry-After, but never at once', async () => {
    const { run, pauses } = setUp([answer(503, '1'), answer(429, '7'), answer(503, '0'), answer(200)])
    assert.equal((await run()).status, 200)
    assert.deepEqual(pauses, [1_000, 7_000, CALL_PAUSE_MS_MIN])
  })

  it('takes a date for the time from the date of the answer on', async () => {
    const { run, pauses } = setUp([
      answer(503, 'Wed, 21 Oct 2026 07:28:09 GMT'),
      answer(503, 'Wednesday, 21-Oct-26 07:28:08 GMT'),
      answer(429, 'Wed Oct 21 07:28:07 2026'),
      answer(429, 'Thu Oct  1 07:28:07 2026'),
      answer(200),
    ])
    assert.equal((await run()).status, 200)
    assert.deepEqual(pauses, [9_000, 8_000, 7_000, CALL_PAUSE_MS_MIN])
    const late = setUp([answer(429, 'Wed, 21 Oct 2026 07:28:31 GMT')])
    assert.equal((await late.run()).status, 429)
    assert.deepEqual(late.pauses, [])
  })

  it('takes a date by its own clock if the answer has none', () => {
    const wait = (ms: number) =>
      retryAfterMs({ status: 503, headers: { 'retry-after': new Date(Date.now() + ms).toUTCString() } })
    assert.equal(wait(-10_000), CALL_PAUSE_MS_MIN)
    assert.ok(Number(wait(1_000_000)) > 900_000)
  })

  it('gives up at once when the time would be too long, and after all when it adds up', async () => {
    const long = setUp([answer(429, '31')])
    assert.equal((await long.run()).status, 429)
    assert.deepEqual(long.pauses, [])
    const often = setUp([answer(503, '5')])
    assert.equal((await often.run()).status, 503)
    assert.equal(often.calls(), 1 + CALL_RETRY_MS / 5_000)
  })

  it('does not repeat what was answered otherwise, or without a time', async () => {
    for (const only of [
      answer(200),
      answer(507, '1'),
      answer(503),
      answer(503, 'soon'),
      answer(503, 'Wed, 21 Oct 2026 99:28:00 GMT'),
      answer(503, '2026-10-21T07:28:00Z'),
    ]) {
      const { run, calls } = setUp([only])
      await run()
      assert.equal(calls(), 1)
    }
  })
})
