import '../../support/node-version.ts'
import '../../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { IMPORT_AUDITED_RECORDS_MAX } from '../../../src/limits.ts'
import { recordsIn } from '../../support/http-client.ts'
import { db1, openHome, openServer, typing, web1 } from './client-home.ts'

async function open(t: TestContext, records: readonly object[] = [web1, db1]) {
  const server = await openServer(t, records)
  const record = async (name: string) => {
    const found = recordsIn(await server.ask('GET', `/configurations/?name=${name}`))
    return found[0]
  }
  const change = async (name: string, body: object) => {
    assert.equal((await server.ask('PATCH', `/configurations/${name}`, { body })).status, 200)
  }
  return { ...server, record, change }
}

describe('connbook revert', () => {
  it('undoes the last change, and so many changes, with labels and the name', async (t) => {
    const { run, record, change, service } = await open(t)
    await change('db1', { port: 5433, labels: { env: 'test', team: 'a' } })
    await change('db1', { name: 'db2', username: 'eve' })
    assert.deepEqual(await run(['revert', 'db2', '--yes']), {
      code: 0,
      stdout: '',
      stderr: `Put "db1" back at ${service.url}\n`,
    })
    assert.equal((await record('db1'))?.username, 'app')
    const shown = await run(['revert', 'db1', '--steps', '3', '--dry-run'])
    assert.deepEqual(shown, {
      code: 0,
      stdout: 'modify "db1": port 5433 -> 5432, label.env test -> prod, label.team a -> -\n',
      stderr: `Nothing has changed at ${service.url}\n`,
    })
    assert.equal((await run(['revert', 'db1', '--steps', '3', '--yes', '--reason', 'oops'])).code, 0)
    assert.deepEqual(await record('db1'), { id: 2, ...db1 })
    const { stdout } = await run(['history', 'db1', '--limit', '1', '--json'])
    assert.equal(JSON.parse(stdout).reason, 'oops')
    const again = await run(['revert', 'db1', '--steps', '2', '--yes'])
    assert.equal(again.code, 0)
  })

  it('goes back to a time, and says so when nothing has changed since', async (t) => {
    const { run, record, change, service } = await open(t)
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
    await change('web1', { port: 23 })
    t.mock.timers.tick(300_000)
    const time = new Date().toISOString()
    t.mock.timers.tick(300_000)
    await change('web1', { port: 24 })
    await change('web1', { port: 25 })
    assert.equal((await run(['revert', 'web1', '--to', '5m', '--yes'])).code, 0)
    assert.equal((await record('web1'))?.port, 23)
    const same = await run(['revert', 'web1', '--to', time, '--yes'])
    assert.deepEqual(
      [same.code, same.stderr],
      [0, `"web1" is so already; nothing has changed at ${service.url}\n`],
    )
    const later = await run(['revert', 'web1', '--to', '2999-01-01T00:00:00Z', '--yes'])
    assert.equal(later.code, 2)
  })

  it('brings a deleted record back with a new id, which it says, unless its name is taken', async (t) => {
    const { run, ask, record, service } = await open(t)
    await run(['rm', 'db1'])
    const shown = await run(['revert', 'db1', '--dry-run'])
    assert.deepEqual([shown.code, shown.stdout], [0, 'add "db1"\n'])
    const done = await run(['revert', 'db1', '--yes'])
    assert.deepEqual([done.code, done.stderr], [0, `Put "db1" back, with the new id 3, at ${service.url}\n`])
    assert.deepEqual(await record('db1'), { id: 3, ...db1 })
    await run(['set', 'web1', '--name', 'old'])
    await run(['rm', 'old'])
    const taken = async () => {
      await ask('POST', '/configurations/', { body: { ...web1, name: 'old' } })
    }
    const { code, stderr } = await run(['revert', 'old'], typing('y\n', taken))
    assert.equal(code, 4, stderr)
    assert.match(stderr, /another record has the name now; nothing has changed\n$/)
  })

  it('deletes a record that was not there then, and asks so', async (t) => {
    const { run, record } = await open(t)
    const no = await run(['revert', 'web1'], typing('n\n'))
    assert.equal(no.code, 1)
    assert.equal(no.stdout, 'remove "web1"\n')
    assert.match(no.stderr, /Delete "web1", which was not there then, at .*\? \[y\/N\] /)
    assert.ok(await record('web1'))
    assert.equal((await run(['revert', 'web1', '--to', '30d', '--yes'])).code, 0)
    assert.equal(await record('web1'), undefined)
  })

  it('does not delete a record that was put back because it was another one then', async (t) => {
    const { run, record, change, ask } = await open(t)
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
    t.mock.timers.tick(300_000)
    const morning = new Date().toISOString()
    t.mock.timers.tick(300_000)
    await change('web1', { port: 2222 })
    assert.equal((await ask('DELETE', '/configurations/web1')).status, 209)
    assert.equal((await run(['revert', 'web1', '--yes'])).code, 0)
    const refused = await run(['revert', 'web1', '--to', morning, '--yes'])
    assert.equal(refused.code, 1)
    assert.match(
      refused.stderr,
      /Cannot put "web1" back so far: it was deleted since, .*; nothing has changed; /,
    )
    assert.equal((await record('web1'))?.port, 2222)
  })

  it('shows and asks anew when somebody has changed the record meanwhile', async (t) => {
    const { run, record, change } = await open(t)
    await change('web1', { port: 23 })
    let isChanged = false
    const changeOnce = async () => {
      if (isChanged) return
      isChanged = true
      await change('web1', { username: 'eve' })
    }
    const { code, stdout, stderr } = await run(['revert', 'web1'], typing('y\n', changeOnce))
    assert.equal(code, 0, stderr)
    assert.equal(stdout, 'modify "web1": port 23 -> 22\nmodify "web1": username eve -> deploy\n')
    assert.match(stderr, /changed meanwhile/)
    assert.deepEqual(await record('web1'), { id: 1, ...web1, port: 23 })
  })

  it('shows and asks anew when somebody has deleted the record meanwhile', async (t) => {
    const { run, ask, record, change } = await open(t)
    await change('web1', { port: 23 })
    let isDeleted = false
    const deleteOnce = async () => {
      if (isDeleted) return
      isDeleted = true
      await ask('DELETE', '/configurations/web1')
    }
    const { code, stdout, stderr } = await run(['revert', 'web1'], typing('y\n', deleteOnce))
    assert.equal(code, 0, stderr)
    assert.equal(stdout, 'modify "web1": port 23 -> 22\nadd "web1"\n')
    assert.match(stderr, /changed meanwhile/)
    assert.equal((await record('web1'))?.port, 23)
  })

  it('is refused where another record has the old name', async (t) => {
    const { run, change } = await open(t)
    await change('web1', { name: 'web2' })
    await change('db1', { name: 'web1' })
    const { code, stderr } = await run(['revert', 'web2', '--yes'])
    assert.equal(code, 4)
    assert.match(stderr, /The name is taken by \{"id":2,"name":"web1"/)
  })

  it('says so when the history does not go back so far', async (t) => {
    const { run, ask, change, record } = await open(t)
    const more = await run(['revert', 'web1', '--steps', '2', '--yes'])
    assert.equal(more.code, 1)
    assert.match(
      more.stderr,
      /Cannot put "web1" back so far: its history has 1 change, and is known only since \d{4}-.*Z; nothing has changed\n$/,
    )
    const rows = Array.from({ length: IMPORT_AUDITED_RECORDS_MAX }, (_, i) => ({ ...web1, name: `n${i}` }))
    await change('web1', { port: 24 })
    const body = [{ ...web1, port: 23 }, ...rows].map((row) => JSON.stringify(row)).join('\n')
    assert.equal((await ask('POST', '/v1/import?format=jsonl', { body })).status, 200)
    await change('web1', { port: 25 })
    assert.equal((await run(['revert', 'web1', '--steps', '2', '--yes'])).code, 1)
    assert.equal((await run(['revert', 'web1', '--to', '30d', '--yes'])).code, 1)
    assert.equal((await record('web1'))?.port, 25)
    assert.equal((await run(['revert', 'web1', '--yes'])).code, 0)
    assert.equal((await record('web1'))?.port, 23)
  })

  it('needs --yes in a pipe, a name that was there, and one of --to and --steps', async (t) => {
    const { run, record } = await open(t)
    assert.equal((await run(['revert', 'web1'])).code, 2)
    assert.equal((await run(['revert', 'none', '--yes'])).code, 3)
    assert.ok(await record('web1'))
    const home = await openHome(t, { CONNBOOK_SERVER: 'http://127.0.0.1:1' })
    for (const flags of [
      ['--to', '1d', '--steps', '1'],
      ['--to', 'yesterday'],
      ['--steps', '0'],
      ['--steps', '101'],
    ])
      assert.equal((await home.run(['revert', 'web1', '--yes', ...flags])).code, 2, flags.join(' '))
    assert.equal((await home.run(['revert', '', '--yes'])).code, 2)
  })
})
