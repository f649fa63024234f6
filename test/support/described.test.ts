import './node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Received } from './described.ts'
import { checkAnswer, expectDescribed } from './under-test.ts'

const record = { id: 1, name: 'a', hostname: 'b', port: 22, username: 'c' }
const headers = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'no-cache, private',
  'x-request-id': 'x',
  etag: '"x"',
}
const problem = { type: 'urn:connbook:problem:unknown_name', title: 'Not Found', status: 404, detail: 'x' }
const problemHeaders = { ...headers, etag: undefined, 'content-type': 'application/problem+json' }

const got = (body: object) => ({ status: 200, headers, text: JSON.stringify(body) })
const right = got({ configurations: [record] })

describe('an answer of a server under test', () => {
  const origin = 'http://under.test:1'
  const check = async (method: string, path: string, answer: Received) => {
    const forget = expectDescribed(`${origin}/base`)
    try {
      await checkAnswer(origin, method, path, answer)
    } finally {
      forget()
    }
  }

  it('passes as the OpenAPI document has it', async () => {
    await check('GET', '/base/configurations/a', right)
    await check('HEAD', '/base/configurations/a', { ...right, text: '' })
    const { etag, ...others } = problemHeaders
    const answer = { status: 404, headers: others, text: JSON.stringify(problem) }
    await check('GET', '/base/configurations/b?c', answer)
    await check('GET', '/elsewhere', answer)
    await check('BREW', '/base/configurations/b', answer)
  })

  const wrong: Record<string, Received> = {
    'a status that it does not have': { ...right, status: 206 },
    'a member that it does not have': got({ configurations: [{ ...record, color: 'red' }] }),
    'a member too few': got({ configurations: [{ ...record, id: undefined }] }),
    'two records instead of one': got({ configurations: [record, record] }),
    'a port that no record can have': got({ configurations: [{ ...record, port: 65_536 }] }),
    'another type': { ...right, headers: { ...headers, 'content-type': 'text/html' } },
    'a header that it does not have': { ...right, headers: { ...headers, 'x-powered-by': 'y' } },
    'a header too few': { ...right, headers: { 'content-type': headers['content-type'] } },
    'a problem of another call': {
      status: 404,
      headers: problemHeaders,
      text: JSON.stringify({ ...problem, type: 'urn:connbook:problem:unknown_path' }),
    },
  }
  for (const [title, answer] of Object.entries(wrong)) {
    it(`fails with ${title}`, async () => {
      await assert.rejects(
        check('GET', '/base/configurations/a', answer),
        /OpenAPI document|lacks|has the type/,
      )
    })
  }

  it('fails when it accepts a body that the document does not have', async () => {
    const accepted = { ...right, sent: { color: 'red' } }
    await assert.rejects(
      check('PATCH', '/base/configurations/a', accepted),
      /the body before .*OpenAPI document/,
    )
    await check('PATCH', '/base/configurations/a', { ...right, sent: '{"port":22}' })
  })

  it('fails at no route unless it is a problem', async () => {
    await assert.rejects(check('GET', '/base/x', right), /is of no route/)
    await assert.rejects(check('GET', '/base/x', { ...right, status: 404 }), /404/)
  })

  it('may be anything of another server', async () => {
    await checkAnswer(origin, 'GET', '/base/configurations/a', { ...right, status: 206 })
  })
})
