import '../../support/node-version.ts'
import '../../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { namesIn } from '../../support/http-client.ts'
import { db1, openHome, openServer, web1 } from './client-home.ts'
import { problemOf, serveOther } from './other-server.ts'

describe('connbook rm', () => {
  it('deletes several, one after the other', async (t) => {
    const { run, ask, service } = await openServer(t, [web1, db1, { ...web1, name: 'web2' }])
    const told = ['web1', 'db1'].map(
      (name) => `Deleted "${name}" at ${service.url}; connbook revert ${name} brings it back\n`,
    )
    assert.deepEqual(await run(['rm', 'web1', 'db1']), { code: 0, stdout: '', stderr: told.join('') })
    assert.deepEqual(namesIn(await ask('GET', '/configurations/')), ['web2'])
  })

  it('names the command that brings a record back, from the same server', async (t) => {
    const name = "-o'k"
    const { run, ask, service } = await openServer(t, [{ ...web1, name }])
    const { code, stderr } = await run(['rm', '--server', service.url, '--', name])
    assert.equal(code, 0)
    const told =
      /; connbook (revert --server \S+) -- (\S+) brings it back\n$/.exec(stderr) ?? assert.fail(stderr)
    assert.equal(told[2], `'-o'\\''k'`)
    const back = await run([...String(told[1]).split(' '), '--yes', '--', name])
    assert.equal(back.code, 0, back.stderr)
    assert.deepEqual(namesIn(await ask('GET', '/configurations/')), [name])
  })

  it('names no such command where it would be of another record: for a name with hidden characters', async (t) => {
    const { run, service } = await openServer(t, [{ ...web1, name: 'a\u202e' }, web1])
    const { stderr } = await run(['rm', 'a\u202e', 'web1'])
    const [hidden, plain] = stderr.split('\n')
    assert.equal(hidden, `Deleted "a\\u202e" at ${service.url}`)
    assert.match(plain ?? '', /^Deleted "web1" .+; connbook revert web1 brings it back$/)
  })

  it('names each that is missing, deletes the others, and ends with 3', async (t) => {
    const { run, ask } = await openServer(t, [web1, db1])
    const { code, stderr } = await run(['rm', 'a\u202e', 'web1', 'b', 'db1'])
    assert.equal(code, 3)
    const [first, second, third, fourth] = stderr.split('\n')
    assert.match(`${first}\n${second}`, /^Deleted "web1" .*\nDeleted "db1" /)
    assert.match(`${third}\n${fourth}`, /^connbook: .*a\\u202e.*\n.*"b"/)
    assert.deepEqual(namesIn(await ask('GET', '/configurations/')), [])
  })

  it('says before it deletes or renames a record how many go through it', async (t) => {
    const through = (name: string, hop: string) => ({ ...web1, name, labels: { 'ssh.proxyjump': hop } })
    const { run, service } = await openServer(t, [
      { ...web1, name: 'gate' },
      { ...web1, name: 'ops@gate' },
      through('a', 'x.example,GATE,gate'),
      through('b', 'deploy@gate:22'),
      // Another record has the whole for its name.
      through('c', 'ops@gate'),
      through('d', 'gate2'),
    ])
    const renamed = await run(['set', 'gate', '--name', 'door'])
    assert.equal(
      renamed.stderr,
      `connbook: "gate" is a hop: 2 records go through it: "a", "b"\nSet "door" at ${service.url}\n`,
    )
    assert.equal(
      (await run(['rm', 'ops@gate', 'd'])).stderr,
      `connbook: "ops@gate" is a hop: 1 record goes through it: "c"\n` +
        `Deleted "ops@gate" at ${service.url}; connbook revert ops@gate brings it back\n` +
        `Deleted "d" at ${service.url}; connbook revert d brings it back\n`,
    )
  })

  it('deletes with --if-match only what has not changed, and one record alone', async (t) => {
    const { run, ask } = await openServer(t, [web1])
    const tag = (await run(['get', 'web1', '--tag'])).stdout.trimEnd()
    await run(['set', 'web1', '--port', '23'])
    assert.equal((await run(['rm', 'web1', '--if-match', tag])).code, 4)
    assert.deepEqual(namesIn(await ask('GET', '/configurations/')), ['web1'])
    const several = await run(['rm', 'web1', 'db1', '--if-match', tag])
    assert.deepEqual(
      [several.code, several.stderr],
      [2, 'connbook: --if-match is for one record; name only that one\n'],
    )
    assert.equal(
      (await run(['rm'])).stderr,
      'connbook: Write it as: connbook rm NAME…, or: connbook rm --where QUERY\n',
    )
  })

  it('stops where the server refuses, and names the record and what was missing before', async (t) => {
    const url = await serveOther(t, (request, response) => {
      const [status, type] = request.url === '/configurations/a' ? [404, 'unknown_name'] : [507, 'no_space']
      response.writeHead(status, { 'Content-Type': 'application/problem+json' })
      response.end(JSON.stringify(problemOf(status, type, `it is ${status}`)))
    })
    const { run } = await openHome(t, { CONNBOOK_SERVER: url })
    const { code, stderr } = await run(['rm', 'a', 'b', 'c'])
    assert.deepEqual([code, stderr], [1, `connbook: it is 404 at ${url}\nStopped at "b": it is 507\n`])
    assert.equal((await run(['rm', 'b'])).stderr, 'connbook: it is 507\n')
  })
})
