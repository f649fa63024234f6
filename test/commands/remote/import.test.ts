import '../../support/node-version.ts'
import '../../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { namesIn } from '../../support/http-client.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { openHome, openServer, web1 } from './client-home.ts'
import { serveOther } from './other-server.ts'

const HEADER = 'name,hostname,port,username\n'
const csv = ['import', '-', '--format', 'csv']

describe('connbook import --server', () => {
  it('sends the file, and names the server', async (t) => {
    const { run, ask, service } = await openServer(t, [web1])
    const input = `${HEADER}a,a.example,22,ops\n`
    const trial = await run([...csv, '--dry-run', '--mode', 'replace'], { input })
    assert.deepEqual([trial.code, trial.stderr], [0, `Compared with ${service.url}; nothing has changed\n`])
    assert.match(
      trial.stdout,
      /^Read as utf-8, separated by ","\n(?: {2}"\w+" becomes \w+\n){4}Would add 1, modify 0, remove 1; 0 unchanged\n/,
    )
    const { code, stdout, stderr } = await run(csv, { input })
    assert.deepEqual([code, stdout], [0, ''])
    assert.equal(stderr, `Imported to ${service.url}: 1 added, 0 modified, 0 removed, 0 unchanged\n`)
    assert.deepEqual(namesIn(await ask('GET', '/configurations/')), ['web1', 'a'])
  })

  it('resolves an SSH configuration here', async (t) => {
    const { run, ask } = await openServer(t)
    const file = join(await temporaryFolder(t), 'config')
    await writeFile(file, 'Host *\n  User ops\nHost b\n  HostName b.example\n')
    const { code, stderr } = await run(['import', file, '--format', 'ssh-config'])
    assert.equal(code, 0, stderr)
    assert.deepEqual(namesIn(await ask('GET', '/configurations/')), ['b'])
  })

  it('sends nothing of a file with a fault', async (t) => {
    const url = await serveOther(t, () => assert.fail('it was called'))
    const { run } = await openHome(t, { CONNBOOK_SERVER: url })
    const { code, stderr } = await run(csv, { input: `${HEADER}a,,0,ops\n` })
    assert.equal(code, 1)
    assert.match(stderr, /^connbook: Cannot import -: [^\n]+\n {2}line 2, "a": /)
  })

  it('names the lines that the server refuses', async (t) => {
    const url = await serveOther(t, (request, response) => {
      request.resume().once('end', () => {
        response.writeHead(400, { 'Content-Type': 'application/problem+json' })
        const errors = [{ field: 'port', detail: 'must be\u202e even', line: 2, name: 'a' }]
        response.end(JSON.stringify({ type: 'x', title: 'x', status: 400, detail: 'It is odd', errors }))
      })
    })
    const { run } = await openHome(t, { CONNBOOK_SERVER: url })
    const { code, stderr } = await run(csv, { input: `${HEADER}a,a,1,ops\n` })
    assert.deepEqual([code, stderr], [1, 'connbook: It is odd\n  line 2, "a": port must be\\u202e even\n'])
  })

  it('says that it does not know whether the file was imported', async (t) => {
    const url = await serveOther(t, (request) => {
      request.resume().once('end', () => request.socket.destroy())
    })
    const { run } = await openHome(t, { CONNBOOK_SERVER: url })
    const input = `${HEADER}a,a,1,ops\n`
    const { code, stderr } = await run(csv, { input })
    assert.equal(code, 6)
    assert.match(stderr, /whether it has imported the file is not known; run the same command again\n$/)
    assert.doesNotMatch((await run([...csv, '--dry-run'], { input })).stderr, /imported/)
  })

  it('makes no folder', async (t) => {
    const { run, service } = await openServer(t)
    const folder = await temporaryFolder(t)
    const environment = { CONNBOOK_DATA: join(folder, 'data') }
    const input = `${HEADER}a,a,1,ops\n`
    assert.equal((await run([...csv, '--server', service.url], { input, environment })).code, 0)
    assert.deepEqual(await readdir(folder), [])
  })
})
