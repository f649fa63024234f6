import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { createClient, recordsIn, type ShownRecord } from '../support/http-client.ts'
import { parseAnswers, type RawAnswer, sendRaw } from '../support/raw-http.ts'
import { start } from '../support/service.ts'
import { hostileRequests } from './hostile-requests.ts'

/** Stack frames, files of this machine and names of the run time. */
const innerDetail =
  /\n? {4}at |node_modules|node:|file:|\.ts\b|\.js\b|\/tmp\/|\/home\/|\/root\/|Error:|undefined|\[object/

describe('hostile requests', async () => {
  const service = await start({ after })
  const bearer = await service.bearer()
  const ask = createClient(service.url, { Authorization: bearer })
  const victim = { name: 'victim', hostname: 'h', port: 1, username: 'u' }
  const expected: ShownRecord[] = recordsIn(await ask('POST', '/configurations/', { body: victim }))
  const rows = hostileRequests({ bearer, cookie: await service.cookie() })

  it('are more than a hundred, each with a name of its own', () => {
    assert.ok(rows.length > 100)
    assert.equal(new Set(rows.map(({ name }) => name)).size, rows.length)
  })

  for (const { name, bytes, allowed } of rows) {
    it(`${name}: ${allowed.join(' or ')}`, async () => {
      const received = await sendRaw(service.url, Buffer.from(bytes, 'latin1'), { halfClose: true })
      const answers = received === '' ? [] : parseAnswers(received)
      assert.ok(answers.length > 0 || bytes.trim() === '', 'no answer')
      for (const answer of answers) {
        assert.ok(allowed.includes(answer.status), `${answer.status} ${answer.body}`)
        assert.doesNotMatch(`${answer.head}\n${answer.body}`, innerDetail)
        expected.push(...acknowledged(answer))
      }
      assert.deepEqual(recordsIn(await ask('GET', '/configurations/')), expected)
    })
  }

  it('leave nothing in the log that was not foreseen', () => {
    assert.deepEqual(
      service.log.lines.filter((line) => line.includes('"level":"error"')),
      [],
    )
  })
})

/** The records that the server says it has added. */
function acknowledged({ status, head, body }: RawAnswer): ShownRecord[] {
  if (status !== 200 || !/^location: /im.test(head)) return []
  return (JSON.parse(Buffer.from(body, 'latin1').toString()) as { configurations: ShownRecord[] })
    .configurations
}
