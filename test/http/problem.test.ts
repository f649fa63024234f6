import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { STATUS_CODES } from 'node:http'
import { after, describe, it } from 'node:test'
import {
  type ConnbookError,
  FolderInUseError,
  InvalidInputError,
  InvalidScopeError,
  NotGrantedError,
  OverloadedError,
  StorageFullError,
  StorageUnavailableError,
  TooManyAttemptsError,
} from '../../src/errors.ts'
import { BEARER_CHALLENGE, Problem, problemOf } from '../../src/http/problem.ts'
import { FAULTS_MAX } from '../../src/limits.ts'
import { StaleRecordError } from '../../src/store/refusals.ts'
import { createClient, type Parts } from '../support/http-client.ts'
import { start } from '../support/service.ts'

describe('problems', async () => {
  const service = await start({ after })
  const ask = createClient(service.url, { Authorization: await service.bearer() })
  const rows: [status: number, method: string, path: string, parts: Parts, hasFaults?: boolean][] = [
    [400, 'POST', '/configurations/', { body: { name: '', ssh: true } }, true],
    [400, 'GET', '/configurations/?page=x', {}, true],
    [400, 'POST', '/login', { body: {} }, true],
    [400, 'POST', '/configurations/', { body: '' }],
    [400, 'GET', '/%', {}],
    [403, 'GET', '/', { headers: { Authorization: 'x' } }],
    [404, 'GET', '/nowhere', {}],
    [404, 'GET', '/configurations/none', {}],
    [405, 'POST', '/configurations/none', {}],
    [413, 'POST', '/configurations/', { body: ' '.repeat(100_000) }],
    [415, 'POST', '/configurations/', { body: '<a/>' }],
    [400, 'GET', '/', { headers: { Host: 'a b' } }],
  ]
  it('list a bounded number of faults', async () => {
    const body = Object.fromEntries(Array.from({ length: 2 * FAULTS_MAX }, (_, i) => [`member${i}`, 1]))
    const answer = await ask('POST', '/configurations/', { body })
    assert.equal(answer.json<{ errors: unknown[] }>().errors.length, FAULTS_MAX)
  })

  for (const [status, method, path, parts, hasFaults = false] of rows) {
    it(`have all members in the answer ${status} to ${method} ${path}`, async () => {
      const answer = await ask(method, path, parts)
      assert.equal(answer.status, status)
      assert.equal(answer.headers['content-type'], 'application/problem+json')
      assert.equal(answer.headers['cache-control'], 'no-store')
      assert.equal(answer.headers['content-length'], String(Buffer.byteLength(answer.text)))
      const { type, title, status: told, detail, errors, ...rest } = answer.json<Record<string, unknown>>()
      assert.match(String(type), /^urn:connbook:problem:[a-z_0-9]+$/)
      assert.deepEqual([title, told, typeof detail], [STATUS_CODES[status], status, 'string'])
      assert.deepEqual(rest, {})
      assert.equal(errors !== undefined, hasFaults)
      for (const fault of (errors ?? []) as Record<string, unknown>[]) {
        assert.deepEqual(Object.keys(fault), ['field', 'detail'])
        assert.ok(Object.values(fault).every((value) => typeof value === 'string' && value !== ''))
      }
    })
  }
})

describe('problemOf', () => {
  const rows: [error: ConnbookError, status: number, retryAfter?: string][] = [
    [new InvalidInputError('told'), 400],
    [new InvalidScopeError('told'), 400],
    [new TooManyAttemptsError('told', 30), 429, '30'],
    [new OverloadedError('told'), 503, '1'],
    [new StorageUnavailableError('told'), 503, '5'],
    [new StorageFullError('told'), 507],
    [new StaleRecordError('a', 'told'), 412],
  ]
  for (const [error, status, retryAfter] of rows) {
    it(`turns ${error.name} into ${status}, with its code and its message`, () => {
      const problem = problemOf(error)
      assert.deepEqual([problem?.status, problem?.code, problem?.message], [status, error.code, 'told'])
      assert.equal(problem?.headers['Retry-After'], retryAfter)
    })
  }

  it('challenges whoever may not, unless the problem does so itself', () => {
    assert.equal(problemOf(new NotGrantedError('told'))?.headers['WWW-Authenticate'], BEARER_CHALLENGE)
    const headers = { 'WWW-Authenticate': 'Bearer error="invalid_token"' }
    assert.deepEqual(new Problem('invalid_token', 'told', { headers }).headers, headers)
  })

  it('keeps the faults of an input, and leaves a problem unchanged', () => {
    const faults = [{ field: 'port', detail: 'must be a number' }]
    assert.deepEqual(problemOf(new InvalidInputError('told', faults))?.faults, faults)
    const problem = new Problem('unknown_path', 'told')
    assert.equal(problemOf(problem), problem)
  })

  it('takes no code that is not in the table; tsc holds this', () => {
    // @ts-expect-error: it is not in the table.
    assert.throws(() => new Problem('unheard_of', 'told'), TypeError)
  })

  it('returns nothing for an error that is not meant for callers', () => {
    for (const error of [new Error('a secret'), new FolderInUseError('a secret'), 'a secret', undefined])
      assert.equal(problemOf(error), undefined)
  })
})
