import '../../support/node-version.ts'
import '../../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { recordsIn } from '../../support/http-client.ts'
import { db1, openHome, openServer, web1 } from './client-home.ts'

const fields = ['--hostname', '192.0.2.10', '--port', '22', '--username', 'deploy']

describe('connbook set', () => {
  it('changes what is given, and leaves the rest', async (t) => {
    const { run, ask, service } = await openServer(t, [db1])
    const flags = ['--port', '1', '--name', 'db2', '--label', 'a=b', '--no-label', 'env']
    assert.deepEqual(await run(['set', 'db1', ...flags]), {
      code: 0,
      stdout: '',
      stderr: `Set "db2" at ${service.url}\n`,
    })
    assert.deepEqual(recordsIn(await ask('GET', '/configurations/db2')), [
      { id: 1, ...db1, name: 'db2', port: 1, labels: { a: 'b', group: 'db' } },
    ])
  })

  it('adds with --create what is missing, and the second time replaces it', async (t) => {
    const { run, ask, service } = await openServer(t)
    const told = [`Added "web1" at ${service.url}\n`, `Set "web1" at ${service.url}\n`]
    for (const stderr of told)
      assert.deepEqual(await run(['set', 'web1', '--create', ...fields]), { code: 0, stdout: '', stderr })
    assert.deepEqual(recordsIn(await ask('GET', '/configurations/')), [{ id: 1, ...web1 }])
    await run(['set', 'web1', '--label', 'a=b'])
    await run(['set', 'web1', '--create', ...fields])
    assert.deepEqual(recordsIn(await ask('GET', '/configurations/')), [{ id: 1, ...web1 }])
  })

  it('needs all fields with --create, and names each that is missing', async (t) => {
    const { run } = await openServer(t, [web1])
    const { code, stderr } = await run(['set', 'web1', '--create', '--port', '23'])
    assert.equal(code, 2)
    assert.match(stderr, /^connbook: [^\n]+\n {2}--hostname [^\n]+\n {2}--username [^\n]+\n$/)
    for (const flags of [
      ['--name', 'x'],
      ['--no-label', 'x'],
    ]) {
      const refused = await run(['set', 'web1', '--create', ...fields, ...flags])
      assert.equal(refused.code, 2)
      assert.match(refused.stderr, /leave out --name and --no-label\n$/)
    }
  })

  it('wants to know what to change', async (t) => {
    const { run } = await openHome(t)
    const { code, stderr } = await run(['set', 'web1'])
    assert.deepEqual([code, stderr], [2, 'connbook: Say what to change; see connbook help set\n'])
    const twice = await run(['set', 'web1', '--label', 'a=1', '--no-label', 'a'])
    assert.deepEqual(
      [twice.code, twice.stderr],
      [2, 'connbook: The label "a" is given twice; give it once\n'],
    )
  })

  it('ends with 3 for a record that is missing, and with 4 for a name that is taken', async (t) => {
    const { run, ask } = await openServer(t, [web1, db1])
    assert.equal((await run(['set', 'x', '--port', '1'])).code, 3)
    const { code, stderr } = await run(['set', 'web1', '--name', 'db1'])
    assert.equal(code, 4)
    assert.match(stderr, /^connbook: The name is taken by \{"id":2,/)
    assert.deepEqual(recordsIn(await ask('GET', '/configurations/')), [
      { id: 1, ...web1 },
      { id: 2, ...db1 },
    ])
  })

  it('changes nothing with a stale --if-match, with exit code 4', async (t) => {
    const { run, ask } = await openServer(t, [web1])
    const tag = (await run(['get', 'web1', '--tag'])).stdout.trimEnd()
    await run(['set', 'web1', '--port', '23'])
    for (const flags of [
      ['--port', '24'],
      ['--create', ...fields],
    ]) {
      const { code, stderr } = await run(['set', 'web1', '--if-match', tag, ...flags])
      assert.equal(code, 4)
      assert.match(stderr, /^connbook: [^\n]+\n$/)
    }
    assert.deepEqual(recordsIn(await ask('GET', '/configurations/')), [{ id: 1, ...web1, port: 23 }])
    assert.equal((await run(['set', 'web1', '--if-match', 'a b', '--port', '1'])).code, 2)
  })

  it('hands a key "__proto__" to the server, which refuses it', async (t) => {
    const { run } = await openServer(t, [web1])
    const { code, stderr } = await run(['set', 'web1', '--label', '__proto__=x'])
    assert.equal(code, 2)
    assert.match(stderr, /\n {2}--label __proto__: is not a label/)
  })
})
