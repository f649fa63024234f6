import '../../support/node-version.ts'
import '../../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { userInfo } from 'node:os'
import { describe, it } from 'node:test'
import { callersAccount, parseDestination } from '../../../src/commands/remote/add.ts'
import { recordsIn } from '../../support/http-client.ts'
import { db1, openHome, openServer, web1 } from './client-home.ts'
import { serveOther } from './other-server.ts'

const fields = ['--hostname', 'db1.example', '--port', '5432', '--username', 'app']

describe('connbook add', () => {
  it('adds a record, and names the server on standard error', async (t) => {
    const { run, ask, service } = await openServer(t)
    const labels = ['--label', 'env=prod', '--label', 'group=db']
    assert.deepEqual(await run(['add', 'db1', ...fields, ...labels]), {
      code: 0,
      stdout: '',
      stderr: `Added "db1" at ${service.url}\n`,
    })
    assert.deepEqual(recordsIn(await ask('GET', '/configurations/db1')), [{ id: 1, ...db1 }])
  })

  it('keeps a label with an empty value, and with "=" in it', async (t) => {
    const { run, ask } = await openServer(t)
    await run(['add', 'db1', ...fields, '--label', 'a=', '--label', 'b=c=d'])
    assert.deepEqual(recordsIn(await ask('GET', '/configurations/db1'))[0]?.labels, { a: '', b: 'c=d' })
  })

  it('says with exit code 4 who has the name', async (t) => {
    const { run } = await openServer(t, [web1])
    const { code, stderr } = await run(['add', 'web1', ...fields])
    assert.equal(code, 4)
    assert.match(stderr, /^connbook: The name is taken by \{"id":1,"name":"web1",[^\n]*\}\n$/)
  })

  it('names each faulty or missing flag on a line, with exit code 2', async (t) => {
    const { run, ask } = await openServer(t)
    const missing = await run(['add', 'x'])
    assert.equal(missing.code, 2)
    assert.deepEqual(
      missing.stderr
        .trimEnd()
        .split('\n')
        .slice(1)
        .map((line) => line.split(' ')[2]),
      ['--hostname', '--port', '--username'],
    )
    const words = ['--hostname', 'a b', '--port', '022', '--username', '\u0007', '--label', 'A=b']
    const faulty = await run(['add', '..', ...words])
    assert.equal(faulty.code, 2)
    const [first, ...lines] = faulty.stderr.trimEnd().split('\n')
    assert.match(first ?? '', /^connbook: \S/)
    for (const [i, start] of [
      'NAME must',
      '--hostname must',
      '--port must',
      '--username must',
      '--label A: is',
    ].entries())
      assert.ok(lines[i]?.startsWith(`  ${start} `), lines.join('\n'))
    assert.equal(lines.length, 5)
    assert.deepEqual(recordsIn(await ask('GET', '/configurations/')), [])
  })

  it('refuses a label that is given twice, or has no value, without a call', async (t) => {
    const { run } = await openHome(t, { CONNBOOK_SERVER: 'http://127.0.0.1:1' })
    const twice = await run(['add', 'x', ...fields, '--label', 'a=1', '--label', 'a=2'])
    assert.deepEqual(
      [twice.code, twice.stderr],
      [2, 'connbook: The label "a" is given twice; give it once\n'],
    )
    const none = await run(['add', 'x', ...fields, '--label', 'a'])
    assert.equal(none.code, 2)
    assert.match(none.stderr, /--label/)
  })

  it('says that it does not know what became of a change without an answer', async (t) => {
    const url = await serveOther(
      t,
      (request) => void request.resume().once('end', () => request.socket.destroy()),
    )
    const { run } = await openHome(t, { CONNBOOK_SERVER: url })
    const { code, stderr } = await run(['add', 'x', ...fields])
    assert.equal(code, 6)
    assert.match(stderr, /gave no answer \(ECONNRESET\); whether the change was made is not known, so look /)
  })

  it('takes the place as ssh has it, and says what it fills in', async (t) => {
    const { run, service } = await openServer(t)
    const environment = { SUDO_USER: 'alice' }
    const added = (name: string) => `Added "${name}" at ${service.url}\n`
    for (const [words, said, line] of [
      [['a', 'deploy@h1:2222'], '', 'h1\t2222\tdeploy'],
      [['b', 'h2'], 'connbook: Not given, so taken: port 22, user "alice"\n', 'h2\t22\talice'],
      [['c', 'h3', '--port', '7'], 'connbook: Not given, so taken: user "alice"\n', 'h3\t7\talice'],
      [['d', '[::1]:3', '--username', 'u'], '', '::1\t3\tu'],
      [
        ['e', 'u@h4', '--label', 'env=prod'],
        'connbook: Not given, so taken: port 22\n',
        'h4\t22\tu\tenv=prod',
      ],
    ] as const) {
      const [name = ''] = words
      assert.deepEqual(await run(['add', ...words], { environment }), {
        code: 0,
        stdout: '',
        stderr: said + added(name),
      })
      assert.equal((await run(['get', name])).stdout, `${name}\t${line}\n`)
    }
  })

  it('takes no flag that says the same thing, and names what is not valid', async (t) => {
    const { run } = await openServer(t)
    for (const [words, message] of [
      [['u@h:1', '--hostname', 'x'], 'USER@HOST:PORT says it already: leave out --hostname'],
      [['u@h:1', '--port', '1'], 'USER@HOST:PORT says it already: leave out --port'],
      [['u@h:1', '--username', 'u'], 'USER@HOST:PORT says it already: leave out --username'],
      [['u@h:x'], 'Cannot read "u@h:x" as USER@HOST:PORT: the port must be a number from 1 to 65535'],
    ] as const)
      assert.deepEqual(await run(['add', 'a', ...words]), {
        code: 2,
        stdout: '',
        stderr: `connbook: ${message}\n`,
      })
    const refused = await run(['add', 'a', 'u@h h:1'])
    assert.equal(refused.code, 2)
    assert.match(refused.stderr, /\n {2}HOST must /)
    assert.equal((await run(['add', 'a', 'u@h:1', 'more'])).code, 2)
    assert.equal((await run(['ls'])).stdout, '')
  })
})

describe('USER@HOST:PORT', () => {
  const read: Record<string, [username: string | undefined, hostname: string, port: number | undefined]> = {
    'deploy@web1.example:2222': ['deploy', 'web1.example', 2222],
    'deploy@web1': ['deploy', 'web1', undefined],
    'web1:22': [undefined, 'web1', 22],
    web1: [undefined, 'web1', undefined],
    'a@b@web1:1': ['a@b', 'web1', 1],
    'u@[2001:db8::1]:65535': ['u', '2001:db8::1', 65_535],
    '[fe80::1%eth0]': [undefined, 'fe80::1%eth0', undefined],
    'a:b@web1:0022': ['a:b', 'web1', 22],
    'u@[web1]:22': ['u', 'web1', 22],
  }
  for (const [text, [username, hostname, port]] of Object.entries(read))
    it(`reads ${text}`, () => assert.deepEqual(parseDestination(text), { username, hostname, port }))

  const refused: Record<string, RegExp> = {
    '': /there is no host$/,
    'u@': /there is no host$/,
    'u@:22': /there is no host$/,
    'u@[]:22': /there is no host$/,
    '@web1': /there is no user before "@"$/,
    '::1': /in brackets, as in \[::1\]:22$/,
    'u@2001:db8::1': /in brackets/,
    '[::1': /only :PORT may follow$/,
    '[::1]22': /only :PORT may follow$/,
    'web1:': /the port must be a number from 1 to 65535$/,
    'web1:0': /the port must/,
    'web1:65536': /the port must/,
    'web1:ssh': /the port must/,
    'web1:-1': /the port must/,
    'ssh://u@web1': /leave out what is before USER$/,
  }
  for (const [text, message] of Object.entries(refused))
    it(`refuses ${JSON.stringify(text)}`, () => {
      assert.throws(() => parseDestination(text), { name: 'UsageError', message })
    })
})

describe('the account of the caller', () => {
  const own = userInfo().username
  for (const [caller, account] of [
    ['alice', 'alice'],
    ['root', own],
    ['', own],
    ['a\nb', own],
    ['x'.repeat(256), own],
  ] as const)
    it(`is ${account} with SUDO_USER=${JSON.stringify(caller.slice(0, 9))}`, () => {
      assert.equal(callersAccount({ SUDO_USER: caller }), account)
    })

  it('is that of this process without sudo', () => assert.equal(callersAccount({}), own))
})
