import '../../support/node-version.ts'
import '../../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { openHome, openServer, web1 } from './client-home.ts'
import { serveJson } from './other-server.ts'

/** What `ssh --print` says of a record that any server may send. */
async function printOf(t: TestContext, record: object, isTerminal = false) {
  const url = await serveJson(t, 200, { configurations: [{ id: 1, ...web1, ...record }] })
  const { run } = await openHome(t, { CONNBOOK_SERVER: url })
  return run(['ssh', '--print', 'web1'], { isTerminal })
}

describe('connbook ssh', () => {
  it('prints the command line for a record, with what follows the name', async (t) => {
    const labels = { 'ssh.proxyjump': 'ops@jump.example:2222,b', 'ssh.identityfile': '~/keys/a b', env: 'x' }
    const { run } = await openServer(t, [
      { ...web1, hostname: '[2001:db8::1]', labels },
      { ...web1, name: 'b' },
    ])
    assert.deepEqual(await run(['ssh', '--print', 'web1', '-v', 'a b', "it's"]), {
      code: 0,
      stdout:
        "ssh -p 22 -l deploy -J ops@jump.example:2222,deploy@192.0.2.10:22 -i '~/keys/a b' 2001:db8::1 -v 'a b' 'it'\\''s'\n",
      stderr: '',
    })
    assert.equal((await run(['ssh', '--print', 'b'])).stdout, 'ssh -p 22 -l deploy 192.0.2.10\n')
  })

  it('goes through records that the label names, and those before them', async (t) => {
    const { run } = await openServer(t, [
      { ...web1, labels: { 'ssh.proxyjump': 'ops@inner' } },
      {
        ...web1,
        name: 'inner',
        hostname: '10.0.0.1',
        labels: { 'ssh.proxyjump': 'outer', 'ssh.identityfile': '~/k' },
      },
      { ...web1, name: 'outer', hostname: '192.0.2.1', port: 2222, username: 'jump' },
      { ...web1, name: 'lost', labels: { 'ssh.proxyjump': 'nobody' } },
      { ...web1, name: 'loop', labels: { 'ssh.proxyjump': 'loop' } },
    ])
    assert.deepEqual(await run(['ssh', '--print', 'web1']), {
      code: 0,
      stdout: 'ssh -p 22 -l deploy -J jump@192.0.2.1:2222,ops@10.0.0.1:22 192.0.2.10\n',
      stderr:
        'connbook: The record "web1" goes through "inner", whose ssh.identityfile is not used for that\n',
    })
    const lost = await run(['ssh', '--print', 'lost'])
    assert.equal(lost.stdout, 'ssh -p 22 -l deploy -J nobody 192.0.2.10\n')
    assert.equal(
      lost.stderr,
      'connbook: The record "lost" goes through "nobody", which is the name of no record that you see\n',
    )
    const loop = await run(['ssh', '--print', 'loop'])
    assert.deepEqual([loop.code, loop.stdout], [1, ''])
    assert.match(loop.stderr, /the record "loop" goes through itself: "loop" > "loop"\n$/)
  })

  it('takes no flag after the name for its own, and none before it for one of ssh', async (t) => {
    const { run } = await openServer(t, [web1])
    assert.equal(
      (await run(['ssh', '--print', 'web1', '--print', '--json', '--', '-x'])).stdout,
      'ssh -p 22 -l deploy 192.0.2.10 --print --json -- -x\n',
    )
    assert.equal((await run(['ssh', '-v', 'web1'])).code, 2)
    assert.equal((await run(['ssh'])).code, 2)
  })

  const refused: [what: string, record: object, reason: RegExp][] = [
    ['a hostname', { hostname: '-oProxyCommand=touch X' }, /has a hostname that /],
    ['a hostname without spaces', { hostname: '-oProxyCommand=id' }, /has a hostname that /],
    ['a hostname with a line end', { hostname: 'h\n-v' }, /has a hostname that /],
    ['a username', { username: '-oProxyCommand=id' }, /has a username that ssh refuses/],
    ['a username for a shell', { username: 'a;id' }, /has a username that ssh refuses/],
    ['a username that is expanded', { username: '%u' }, /has a username with "%"/],
    ['a port', { port: 0 }, /has a port that must be an integer from 1 to 65535/],
    ['a port with a fraction', { port: 1.5 }, /has a port that /],
    ['a jump host', { labels: { 'ssh.proxyjump': '-oProxyCommand=id' } }, /has a label ssh\.proxyjump that /],
    [
      'a jump host that is expanded',
      { labels: { 'ssh.proxyjump': 'h,%h' } },
      /has a label ssh\.proxyjump that /,
    ],
    ['a key file', { labels: { 'ssh.identityfile': '%d/x' } }, /has a label ssh\.identityfile that /],
  ]
  for (const [what, record, reason] of refused) {
    it(`makes nothing else of ${what} that ssh would not take as it is`, async (t) => {
      const { code, stdout, stderr } = await printOf(t, record)
      assert.deepEqual([code, stdout], [1, ''])
      assert.match(stderr, /^connbook: Cannot run ssh: the record "web1" [^\n]+\n$/)
      assert.match(stderr, reason)
    })
  }

  it('gives the option of a label one argument, whatever that is', async (t) => {
    const { stdout } = await printOf(t, { labels: { 'ssh.identityfile': '-oProxyCommand=id' } })
    assert.equal(stdout, 'ssh -p 22 -l deploy -i -oProxyCommand=id 192.0.2.10\n')
  })

  it('escapes on a terminal what turns the direction of text', async (t) => {
    const record = { username: 'a\u202eb' }
    assert.equal((await printOf(t, record)).stdout, "ssh -p 22 -l 'a\u202eb' 192.0.2.10\n")
    assert.equal((await printOf(t, record, true)).stdout, "ssh -p 22 -l 'a\\u202eb' 192.0.2.10\n")
  })

  it('says that ssh is missing', async (t) => {
    const { run } = await openServer(t, [web1])
    const { code, stderr } = await run(['ssh', 'web1'], { environment: { PATH: await temporaryFolder(t) } })
    assert.equal(code, 1)
    assert.equal(stderr, "connbook: Cannot run ssh: it is not on the PATH; install OpenSSH's client\n")
  })
})
