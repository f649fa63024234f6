import '../../support/node-version.ts'
import '../../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { db1, openHome, openServer, web1 } from './client-home.ts'
import { serveOther } from './other-server.ts'

/** ssh would take it for several patterns. */
const spaced = { ...web1, name: 'a b' }

describe('connbook export --server', () => {
  it('writes what the same folder gives, in every format', async (t) => {
    const { run, service } = await openServer(t, [web1, { ...db1, labels: { env: 'é\u202e' } }])
    const data = ['--data', service.folder.path]
    for (const format of ['json', 'jsonl', 'csv', 'ssh-config', 'ansible', 'pg-service', 'env']) {
      const words = ['export', '--format', format]
      const [there, here] = [await run(words), await run([...words, ...data])]
      assert.deepEqual([there.code, there.stdout], [here.code, here.stdout])
      assert.deepEqual([there.stderr, here.stderr], ['', ''])
      assert.notEqual(there.stdout, '')
    }
  })

  it('takes the filters of ls and a query, at a server as in a folder, and passes warnings on', async (t) => {
    const labels = { 'ssh.proxyjump': 'nowhere', env: 'a b' }
    const { run, service } = await openServer(t, [web1, db1, { ...web1, name: 'web2', labels }])
    const data = ['--data', service.folder.path]
    const words = ['export', '--format', 'ssh-config']
    const warning =
      'connbook: Warnings:\n  "web2" goes through "nowhere", which is the name of no record that you see\n'
    const filters: [flags: string[], hosts: string[]][] = [
      [
        ['--prefix', 'web'],
        ['web1', 'web2'],
      ],
      [['--label', 'env=a b', '--username', 'deploy'], ['web2']],
      [['--where', 'label=env=a%20b&prefix=web'], ['web2']],
      [['--where', '?q=DB1'], ['db1']],
      // As a person types it, not as a URL has it.
      [['--where', 'label=env=a b&q=wéb web'], []],
      [['--where', 'label=env=a b'], ['web2']],
      [['--prefix', 'web', '--where', 'name=web1'], ['web1']],
      [['--name', 'nobody'], []],
    ]
    for (const [flags, hosts] of filters)
      for (const where of [[], data]) {
        const { code, stdout, stderr } = await run([...words, ...flags, ...where])
        assert.equal(code, 0, stderr)
        assert.deepEqual(
          [...stdout.matchAll(/^Host (.*)$/gm)].map(([, name]) => name),
          hosts,
        )
        assert.equal(stderr.startsWith(warning), hosts.includes('web2'), stderr)
      }
  })

  it('refuses a filter that is not there before it asks anybody, and writes nothing', async (t) => {
    const { run } = await openServer(t, [web1])
    const file = join(await temporaryFolder(t), 'x')
    const words = ['export', '--format', 'csv', '--output', file, '--where', 'lable=env&port=x%20']
    const { code, stdout, stderr } = await run(words)
    assert.deepEqual([code, stdout], [2, ''])
    assert.match(
      stderr,
      /^connbook: Cannot use --where "lable=env&port=x%20": lable is not a parameter here: [^\n;]+; port must be/,
    )
    assert.deepEqual(await readdir(dirname(file)), [])
    for (const where of ['a=%', '', '?', 'sort=name', 'all=1'])
      assert.equal((await run(['export', '--format', 'csv', '--where', where])).code, 2, where)
    assert.equal((await run(['inventory', '--list', '--where', ''])).code, 2)
    const twice = await run(['export', '--format', 'csv', '--prefix', 'a', '--where', 'prefix=b'])
    assert.match(twice.stderr, /prefix is given twice/)
  })

  it('asks the server that the flag names, and a folder that a flag names before the variable', async (t) => {
    const [one, two] = [await openServer(t, [web1]), await openServer(t, [db1])]
    const words = ['export', '--format', 'csv']
    assert.match((await one.run([...words, '--data', two.service.folder.path])).stdout, /\ndb1,/)
    assert.match((await one.run(words)).stdout, /\nweb1,/)
    const flag = ['--server', two.service.url]
    assert.equal((await one.run([...words, ...flag])).code, 5)
  })

  it('replaces a file whole, and leaves it when the answer ends early', async (t) => {
    const { run } = await openServer(t, [web1])
    const file = join(await temporaryFolder(t), 'hosts.csv')
    const words = ['export', '--format', 'csv', '--output', file]
    assert.deepEqual(await run(words), {
      code: 0,
      stdout: '',
      stderr: '',
    })
    const whole = await readFile(file, 'utf8')
    assert.match(whole, /^name,[^\n]*\nweb1,/)
    const url = await serveOther(t, (_, response) => {
      response.writeHead(200, { 'Content-Type': 'text/csv', 'Content-Length': 100 })
      response.write('name,', () => response.destroy())
    })
    const { code, stderr } = await run(words, { environment: { CONNBOOK_SERVER: url } })
    assert.equal(code, 6)
    assert.match(stderr, /^connbook: [^\n]+ did not finish its answer \(ECONNRESET\)\n$/)
    assert.equal(await readFile(file, 'utf8'), whole)
    assert.deepEqual(await readdir(dirname(file)), ['hosts.csv'])
  })

  it('says of what it printed that it is not complete', async (t) => {
    const url = await serveOther(t, (_, response) => {
      response.writeHead(200, { 'Content-Type': 'text/csv', 'Content-Length': 100 })
      response.write('name,', () => response.destroy())
    })
    const { run } = await openHome(t, { CONNBOOK_SERVER: url })
    const { code, stdout, stderr } = await run(['export', '--format', 'csv'])
    assert.deepEqual([code, stdout], [6, 'name,'])
    assert.match(stderr, /\(ECONNRESET\); what was written is not complete\n$/)
  })

  it('writes nothing that another server sends', async (t) => {
    const url = await serveOther(t, (_, response) => {
      response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!DOCTYPE html>')
    })
    const { run } = await openHome(t, { CONNBOOK_SERVER: url })
    const file = join(await temporaryFolder(t), 'hosts.csv')
    await writeFile(file, 'before')
    const { code, stderr } = await run(['export', '--format', 'csv', '--output', file])
    assert.deepEqual([code, stderr], [1, `connbook: ${url} answers no export as csv; is it a connbook?\n`])
    assert.equal(await readFile(file, 'utf8'), 'before')
  })

  it('names what the format cannot express, or leaves it out', async (t) => {
    const { run } = await openServer(t, [web1, spaced])
    const words = ['export', '--format', 'ssh-config']
    const refused = await run(words)
    assert.deepEqual([refused.code, refused.stdout], [1, ''])
    assert.match(
      refused.stderr,
      /^connbook: Cannot export 1 of 2 records as ssh-config:\n {2}"a b" [^\n]+\nNothing was written; /,
    )
    const skipped = await run([...words, '--skip'])
    assert.equal(skipped.code, 0)
    assert.match(skipped.stderr, /^connbook: Left out 1 of 2 records as ssh-config:\n {2}"a b" [^\n]+\n$/)
    assert.match(skipped.stdout, /^Host web1$/m)
    assert.doesNotMatch(skipped.stdout, /a b/)
  })
})
