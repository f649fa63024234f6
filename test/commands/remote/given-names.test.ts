import '../../support/node-version.ts'
import '../../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { namesIn } from '../../support/http-client.ts'
import { db1, openHome, openServer, openServerOfHosts, web1 } from './client-home.ts'

const web2 = { ...web1, name: 'web2' }

describe('commands that take names', () => {
  it('get shows each of them, in each form', async (t) => {
    const { run, see } = await openServer(t, [web1, db1])
    assert.equal(
      (await run(['get', 'db1', 'web1'])).stdout,
      'db1\tdb1.example\t5432\tapp\tenv=prod;group=db\nweb1\t192.0.2.10\t22\tdeploy\n',
    )
    assert.equal((await run(['get', 'db1', 'web1', '--field', 'port'])).stdout, '5432\n22\n')
    assert.equal((await run(['get', 'db1', 'web1', '--json'])).stdout.trimEnd().split('\n').length, 2)
    assert.match((await run(['get', 'db1', 'web1', '--tag'])).stdout, /^\S+\n\S+\n$/)
    const { stdout } = await see(['get', 'web1', 'db1'], { environment: { NO_COLOR: '1' } })
    assert.match(stdout, /^name +web1\n(?:.+\n)+\nname +db1\n(?:.+\n)+$/)
  })

  it('set changes each of them', async (t) => {
    const { run, service } = await openServer(t, [web1, db1])
    const { code, stderr } = await run(['set', 'web1', 'db1', '--port', '7', '--label', 'a=b'])
    assert.deepEqual([code, stderr], [0, `Set "web1" at ${service.url}\nSet "db1" at ${service.url}\n`])
    assert.equal((await run(['ls', '--columns', 'port,label.a'])).stdout, '7\tb\n7\tb\n')
  })

  it('names what is missing, does the others, and ends with 3', async (t) => {
    const { run, ask, service } = await openServer(t, [web1, db1])
    const got = await run(['get', 'x', 'web1', 'yy', 'db1', '--field', 'name'])
    assert.deepEqual([got.code, got.stdout], [3, 'web1\ndb1\n'])
    assert.match(got.stderr, /^connbook: [^\n]*"x"[^\n]*\n[^\n]*"yy"[^\n]*\n$/)
    const set = await run(['set', 'web1', 'x', 'db1', '--port', '7'])
    assert.equal(set.code, 3)
    assert.match(
      set.stderr,
      new RegExp(`^Set "web1" at ${service.url}\nSet "db1" at ${service.url}\nconnbook: [^\n]*"x"[^\n]*\n$`),
    )
    assert.equal((await run(['rm', 'x', 'web1', 'db1'])).code, 3)
    assert.deepEqual(namesIn(await ask('GET', '/configurations/')), [])
  })

  it('get names those without such a value, and shows the others', async (t) => {
    const { run } = await openServer(t, [web1, db1])
    const words = ['get', 'web1', 'db1', '--field', 'label.env']
    assert.deepEqual(await run(words), {
      code: 1,
      stdout: 'prod\n',
      stderr: 'connbook: "web1" has no label "env"\n',
    })
    assert.equal((await run([...words, 'x'])).code, 3)
  })

  it('take a list from standard input, with blank lines and CR, between other names', async (t) => {
    const { run, ask } = await openServer(t, [
      web1,
      web2,
      db1,
      { ...web1, name: 'a b' },
      { ...web1, name: 'é' },
    ])
    const input = '\ufeffweb2\r\n\n  \na b\n'
    assert.equal(
      (await run(['get', 'db1', '-', 'é', '--field', 'name'], { input })).stdout,
      'db1\nweb2\na b\né\n',
    )
    assert.equal((await run(['set', '-', '--port', '9'], { input })).code, 0)
    assert.equal((await run(['ls', '--port', '9', '--names'])).stdout, 'web2\na b\n')
    assert.equal((await run(['rm', '-'], { input: 'é\r\nweb1' })).code, 0)
    assert.deepEqual(namesIn(await ask('GET', '/configurations/')), ['web2', 'db1', 'a b'])
    assert.equal((await run(['get', 'db1', '-', '--field', 'name'], { input: '\n' })).stdout, 'db1\n')
    const stderr = 'Standard input has no names; nothing was done\n'
    for (const words of [
      ['get', '-'],
      ['set', '-', '--port', '1'],
      ['rm', '-'],
    ])
      assert.deepEqual(await run(words, { input: '\n' }), { code: 0, stdout: '', stderr })
  })

  it('do nothing for a list that cannot be read', async (t) => {
    const { run, ask } = await openServer(t, [web1])
    for (const [words, input, message] of [
      [['rm', '-', '-'], 'web1\n', 'Give "-" once; nothing has changed'],
      [
        ['rm', 'web1', '-'],
        Buffer.from('web1\n\xff\n', 'latin1'),
        'Standard input is not UTF-8; nothing has changed',
      ],
      [['rm', 'web1', ''], '', 'The name of a record cannot be empty; nothing has changed'],
      [['rm', '-', '--if-match', 'x'], 'web1\n', '--if-match is for one record; name only that one'],
      [['set', '-', '--name', 'x'], 'web1\n', '--name and --if-match are for one record; name only that one'],
      [
        ['set', 'web1', 'web2', '--if-match', 'x', '--port', '1'],
        '',
        '--name and --if-match are for one record; name only that one',
      ],
    ] as const)
      assert.deepEqual(await run(words, { input }), { code: 2, stdout: '', stderr: `connbook: ${message}\n` })
    assert.deepEqual(namesIn(await ask('GET', '/configurations/')), ['web1'])
  })

  it('name what may have been meant by a name that is not there', async (t) => {
    const { run } = await openServer(t, [web1, web2, { ...web1, name: 'prod-web-3\u202e' }, db1])
    for (const words of [['get'], ['set', '--port', '1'], ['rm'], ['ssh', '--print'], ['history']]) {
      const { code, stderr } = await run([...words, 'wbe1'])
      assert.equal(code, 3)
      assert.match(stderr, /"wbe1"[^\n]*; did you mean "web1"\?\n$/)
    }
    assert.match((await run(['get', 'WEB'])).stderr, /; did you mean "web1", "web2"\?\n$/)
    assert.match((await run(['get', 'prod'])).stderr, /; did you mean "prod-web-3\\u202e"\?\n$/)
    assert.doesNotMatch((await run(['get', 'nothing'])).stderr, /did you mean/)
  })

  it('look at some names alone where there are very many', async (t) => {
    const { run } = await openServerOfHosts(t, 10_001)
    assert.match(
      (await run(['get', 'host-00000x'])).stderr,
      /; did you mean "host-000000", "host-000001", "host-000002"\?\n$/,
    )
  })

  it('ask for no names at a server that is away', async (t) => {
    const { run } = await openHome(t, { CONNBOOK_SERVER: 'http://127.0.0.1:1' })
    assert.equal((await run(['get', 'a'])).code, 6)
  })
})
