import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { describe, it } from 'node:test'
import { eventually } from '../support/eventually.ts'
import { createClient, recordsIn } from '../support/http-client.ts'
import { formatRequest, parseAnswers } from '../support/raw-http.ts'
import { start } from '../support/service.ts'

const body = '{"name":"late","hostname":"h","port":1,"username":"u"}'

describe('a change whose body comes after its head', () => {
  it('is refused when the credential has ended in between', async (t) => {
    const service = await start(t, { flags: ['--access-log'] })
    const other = { Authorization: await service.bearer() }
    for (const headers of [{ Authorization: await service.bearer() }, { Cookie: await service.cookie() }]) {
      const socket = connect(Number(new URL(service.url).port), '127.0.0.1')
      t.after(() => socket.destroy())
      const received = socket.setEncoding('latin1').toArray()
      const request = formatRequest('POST /configurations/', { ...headers, Expect: '100-continue' }, body)
      const head = request.slice(0, -body.length)
      const continued = new Promise<void>((resolve) => socket.once('readable', resolve))
      socket.write(head)
      await continued
      assert.equal((await service.call('/logout', { method: 'POST', headers })).status, 200)
      socket.end(body)
      const text = (await received).join('')
      const [answer] = parseAnswers(text.replace('HTTP/1.1 100 Continue\r\n\r\n', ''))
      assert.equal(answer?.status, 403)
    }
    await eventually('both are logged', () => service.log.events.filter((e) => e === 'request').length >= 4)
    assert.deepEqual(recordsIn(await createClient(service.url, other)('GET', '/configurations/')), [])
  })
})

describe('another site', () => {
  for (const path of ['/login', '/v1/auth/token']) {
    it(`cannot have its visitor try passwords at ${path}`, async (t) => {
      const service = await start(t)
      const ask = createClient(service.url)
      const headers = { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' }
      for (let i = 0; i < 12; i++) {
        const answer = await ask('POST', path, { headers, body: { username: 'admin', password: 'wrong' } })
        assert.equal(answer.status, 403)
      }
      assert.ok(await service.cookie())
      assert.ok(!service.log.events.includes('login_failed'))
    })
  }
})
