import '../../support/node-version.ts'
import '../../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openHome, openServer, web1 } from './client-home.ts'
import { serveJson } from './other-server.ts'

const TIME = String.raw`\d{4}-\d\d-\d\dT[\d:.]+Z`

describe('connbook history', { timeout: 300_000 }, () => {
  it('shows what happened to a record, newest first', async (t) => {
    const { run, see } = await openServer(t, [web1])
    await run(['set', 'web1', '--port', '23'])
    await run(['rm', 'web1'])
    const { code, stdout, stderr } = await run(['history', 'web1'])
    assert.deepEqual([code, stderr], [0, ''])
    const [removed, modified, added] = stdout.split('\n')
    assert.match(removed ?? '', new RegExp(`^${TIME}\tdeleted\tscript\t`))
    assert.match(modified ?? '', new RegExp(`^${TIME}\tmodified\tscript\t.*23`))
    assert.match(added ?? '', new RegExp(`^${TIME}\tadded\tscript\t.*192\\.0\\.2\\.10`))
    const seen = await see(['history', 'web1', '--limit', '1'], { environment: { NO_COLOR: '1' } })
    assert.match(seen.stdout, new RegExp(`^TIME +EVENT +BY +CHANGED\n${TIME}  deleted  script[^\n]*\n$`))
    assert.match(seen.stderr, new RegExp(`^Complete since ${TIME}\n$`))
  })

  it('prints each change as JSON', async (t) => {
    const { run } = await openServer(t, [web1])
    await run(['set', 'web1', '--port', '23'])
    const { stdout } = await run(['history', 'web1', '--json', '--limit', '1'])
    const { event, by, changed } = JSON.parse(stdout)
    assert.deepEqual([event, by], ['configuration_modified', 'script'])
    assert.deepEqual(Object.keys(changed), ['port'])
  })

  it('refuses a limit, and says that there is no such record', async (t) => {
    const { run } = await openServer(t)
    assert.equal((await run(['history', 'web1', '--limit', '0'])).code, 2)
    const { code, stderr } = await run(['history', 'web1'])
    assert.equal(code, 3)
    assert.match(stderr, /^connbook: [^\n]*"web1"[^\n]*\n$/)
  })

  it('says of any other answer that it is not a history', async (t) => {
    for (const body of [{}, { history: [{}] }, { history: [{ time: 1, event: [] }] }, { history: ['x'] }]) {
      const url = await serveJson(t, 200, body)
      const { run } = await openHome(t, { CONNBOOK_SERVER: url })
      const { code, stdout, stderr } = await run(['history', 'web1'])
      assert.deepEqual([code, stdout], [1, ''])
      assert.equal(stderr, `connbook: What ${url} answers is not a history; is it an older connbook?\n`)
    }
  })

  it('escapes on a terminal what turns the direction of text', async (t) => {
    const { run, see } = await openServer(t, [{ ...web1, username: '\u202eeve' }])
    assert.match((await run(['history', 'web1'])).stdout, /\u202e/)
    for (const form of [[], ['--json']])
      assert.doesNotMatch((await see(['history', 'web1', ...form])).stdout, /\p{Cf}/u)
  })
})
