import '../../support/node-version.ts'
import '../../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { db1, openHome, openServer, web1 } from './client-home.ts'
import { serveJson } from './other-server.ts'

describe('connbook get', () => {
  it('shows a record on one line in a pipe, and on a terminal a value a line', async (t) => {
    const { run, see } = await openServer(t, [db1])
    assert.deepEqual(await run(['get', 'db1']), {
      code: 0,
      stdout: 'db1\tdb1.example\t5432\tapp\tenv=prod;group=db\n',
      stderr: '',
    })
    assert.deepEqual((await see(['get', 'db1'], { environment: { NO_COLOR: '1' } })).stdout.split('\n'), [
      'name          db1',
      'hostname      db1.example',
      'port          5432',
      'username      app',
      'labels.env    prod',
      'labels.group  db',
      '',
    ])
    assert.deepEqual(JSON.parse((await run(['get', 'db1', '--json'])).stdout), { id: 1, ...db1 })
  })

  it('prints one value, also of a label', async (t) => {
    const { run } = await openServer(t, [db1])
    const value = async (field: string) => (await run(['get', 'db1', '--field', field])).stdout
    assert.equal(await value('id'), '1\n')
    assert.equal(await value('name'), 'db1\n')
    assert.equal(await value('hostname'), 'db1.example\n')
    assert.equal(await value('port'), '5432\n')
    assert.equal(await value('username'), 'app\n')
    for (const field of ['labels.env', 'label.env']) assert.equal(await value(field), 'prod\n')
    const none = await run(['get', 'db1', '--field', 'labels.x'])
    assert.deepEqual(none, { code: 1, stdout: '', stderr: 'connbook: "db1" has no label "x"\n' })
    const unknown = await run(['get', 'db1', '--field', 'password'])
    assert.equal(unknown.code, 2)
    assert.match(unknown.stderr, /id, name, hostname, port, username or label\.KEY\n$/)
  })

  it('prints a tag that set and rm take, as it is and with quotes', async (t) => {
    const { run, ask } = await openServer(t, [db1])
    const tag = (await run(['get', 'db1', '--tag'])).stdout.trimEnd()
    assert.equal(`"${tag}"`, (await ask('GET', '/configurations/db1')).headers.etag)
    assert.equal((await run(['set', 'db1', '--port', '1', '--if-match', tag])).code, 0)
    const next = (await run(['get', 'db1', '--tag'])).stdout.trimEnd()
    assert.equal((await run(['rm', 'db1', '--if-match', `"${next}"`])).code, 0)
  })

  it('takes one form alone', async (t) => {
    const { run } = await openHome(t)
    for (const flags of [
      ['--json', '--tag'],
      ['--json', '--field', 'id'],
      ['--tag', '--field', 'id'],
    ]) {
      const { code, stderr } = await run(['get', 'a', ...flags])
      assert.deepEqual([code, stderr], [2, 'connbook: Give only one of --json, --field and --tag\n'])
    }
    assert.equal((await run(['get'])).stderr, 'connbook: Write it as: connbook get NAME…\n')
  })

  it('says with exit code 3 that there is no such record, on one line', async (t) => {
    const { run } = await openServer(t)
    const { code, stdout, stderr } = await run(['get', 'a/b c'])
    assert.deepEqual([code, stdout], [3, ''])
    assert.match(stderr, /^connbook: [^\n]*a\/b c[^\n]*\n$/)
  })

  it('finds a name of any characters', async (t) => {
    const names = ['a/b', 'a b', '%41', '?x=1', 'é\u202e', '-v']
    const { run } = await openServer(
      t,
      names.map((name) => ({ ...web1, name })),
    )
    for (const name of names)
      assert.equal((await run(['get', '--field', 'name', '--', name])).stdout, `${name}\n`)
  })

  it('escapes on a terminal what turns the direction of text, also in what it says of it', async (t) => {
    const record = { ...web1, name: '\u202eeve', labels: { env: '\u2066x' } }
    const { run, see } = await openServer(t, [record])
    const forms = [[], ['--json'], ['--field', 'name'], ['--field', 'labels.env']]
    for (const form of forms) {
      const { stdout } = await see(['get', record.name, ...form], { environment: { NO_COLOR: '1' } })
      assert.match(stdout, /\\u202e|\\u2066/)
      assert.doesNotMatch(stdout, /\p{Cf}/u)
      assert.match((await run(['get', record.name, ...form])).stdout, /\p{Cf}/u)
    }
    const { stderr } = await run(['get', record.name, '--field', 'labels.x\u202e'])
    assert.equal(stderr, 'connbook: "\\u202eeve" has no label "x\\u202e"\n')
  })

  it('says that a tag is missing', async (t) => {
    const url = await serveJson(t, 200, { configurations: [{ id: 1, ...web1 }] })
    const { run } = await openHome(t, { CONNBOOK_SERVER: url })
    const { code, stderr } = await run(['get', 'web1', '--tag'])
    assert.deepEqual([code, stderr], [1, 'connbook: The answer has no ETag; does a proxy remove it?\n'])
  })
})
