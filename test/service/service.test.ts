import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { parseCommandLine } from '../../src/command-line/command-line.ts'
import { serverFlags } from '../../src/command-line/options.ts'
import { REFUSAL_PAUSE_MS } from '../../src/server/request-order.ts'
import { LONG_START_MS } from '../../src/service/served-apps.ts'
import { startService } from '../../src/service/service.ts'
import { eventually } from '../support/eventually.ts'
import { createFailingFiles, holdUp } from '../support/failing-files.ts'
import { freePort } from '../support/free-port.ts'
import { createClient } from '../support/http-client.ts'
import { createMemoryLog } from '../support/memory-log.ts'
import { admin, firstStartEnvironment, start } from '../support/service.ts'
import { skipPauses } from '../support/skipped-pauses.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

describe('a start that takes long', () => {
  it('is logged, and answers as alive but not ready, and refuses the rest until all is read', async (t) => {
    const folder = await temporaryFolder(t)
    await (await start(t, { folder })).stop()
    const files = createFailingFiles()
    const reading = holdUp(files, 'read', 'journal.jsonl')
    skipPauses(t, LONG_START_MS, REFUSAL_PAUSE_MS)
    const { log, starting } = startAt(folder, files)
    await reading.begun
    await eventually('it says so', () => log.events.includes('reading'))
    assert.deepEqual(log.events, ['reading'])
    const { url, data } = JSON.parse(log.lines[0] ?? '') as { url: string; data: string }
    assert.equal(data, folder)
    const ask = createClient(url)

    const alive = await ask('GET', '/healthz')
    assert.deepEqual([alive.status, alive.text], [200, '{"status":"ok"}'])
    assert.equal((await ask('HEAD', '/healthz')).status, 200)
    const others = [
      ['GET', '/readyz', 'not_ready'],
      ['GET', '/configurations/', 'starting'],
      ['POST', '/login', 'starting'],
      ['GET', '/%ff', 'starting'],
      ['GET', '/nothing', 'starting'],
    ] as const
    for (const [method, path, code] of others) {
      const answer = await ask(method, path, { body: method === 'POST' ? admin : undefined })
      assert.equal(answer.status, 503, path)
      assert.equal(answer.json<{ type: string }>().type, `urn:connbook:problem:${code}`)
      assert.ok(Number(answer.headers['retry-after']) > 0)
    }

    const browser = await ask('GET', '/', { headers: { Accept: 'text/html' } })
    assert.deepEqual([browser.status, browser.headers.location], [303, '/console/'])
    const page = await ask('GET', '/console/')
    assert.equal(page.status, 200)
    const script = /src="([^"]+)"/.exec(page.text)?.[1]
    assert.equal((await ask('GET', `/console/${script}`)).status, 200)
    assert.equal((await ask('GET', '/console/nothing')).status, 404)

    reading.release()
    const service = await starting
    t.after(() => service.stop())
    assert.equal((await ask('GET', '/readyz')).status, 200)
    assert.equal((await ask('POST', '/login', { body: admin })).status, 200)
  })

  it('lets requests wait while it is short', async (t) => {
    const folder = await temporaryFolder(t)
    await (await start(t, { folder })).stop()
    const socketPath = join(await temporaryFolder(t), 'socket')
    const files = createFailingFiles()
    const reading = holdUp(files, 'read', 'journal.jsonl')
    skipPauses(t, REFUSAL_PAUSE_MS)
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const { log, starting } = startAt(folder, files, ['--listen', `unix:${socketPath}`])
    await reading.begun
    // The timer that ends a short start is set, and never fires.
    t.mock.timers.reset()
    const ask = createClient('http://localhost', {}, { socketPath })
    const login = ask('POST', '/login', { body: admin })
    assert.equal((await ask('GET', '/readyz')).status, 503)
    reading.release()
    const service = await starting
    t.after(() => service.stop())
    assert.equal((await login).status, 200)
    assert.ok(!log.events.includes('reading'))
  })

  it('that fails releases its address', async (t) => {
    const folder = await temporaryFolder(t)
    await (await start(t, { folder })).stop()
    await writeFile(join(folder, 'journal.jsonl'), 'no journal\n')
    const files = createFailingFiles()
    const reading = holdUp(files, 'read', 'journal.jsonl')
    skipPauses(t, LONG_START_MS)
    // Not one that another process may get when it is free again.
    const port = String(await freePort())
    const { log, starting } = startAt(folder, files, ['--host', '127.0.0.1', '--port', port])
    await reading.begun
    await eventually('it says so', () => log.events.includes('reading'))
    const { url } = JSON.parse(log.lines[0] ?? '') as { url: string }
    assert.equal((await createClient(url)('GET', '/healthz')).status, 200)
    reading.release()
    await assert.rejects(starting, { code: 'damaged_data' })
    await assert.rejects(createClient(url)('GET', '/healthz'), { code: 'ECONNREFUSED' })
  })
})

describe('a start that fails', () => {
  it('releases the folder, so that the next one works', async (t) => {
    const folder = await temporaryFolder(t)
    const path = join(folder, 'no-socket')
    await writeFile(path, '')
    const place = ['--listen', `unix:${path}`]
    await assert.rejects(start(t, { folder, place }), { code: 'cannot_listen' })
    const service = await start(t, { folder })
    assert.equal((await service.call('/readyz')).status, 200)
  })

  it('leaves no new folder, but one that was there, and what others put into a new one', async (t) => {
    const empty = await temporaryFolder(t)
    const place = ['--host', '300.1.1.1']
    const folder = join(empty, 'data')
    await assert.rejects(start(t, { folder, place }), { code: 'cannot_listen' })
    assert.deepEqual(await readdir(empty), [])
    await assert.rejects(start(t, { folder: empty, place }), { code: 'cannot_listen' })
    assert.deepEqual(await readdir(empty), ['.lock'])

    const files = createFailingFiles()
    const locking = t.mock.method(files, 'access', async () => {
      await writeFile(join(folder, 'notes'), '')
    })
    await assert.rejects(startAt(folder, files, place).starting, { code: 'cannot_listen' })
    assert.equal(locking.mock.callCount() > 0, true)
    assert.deepEqual((await readdir(folder)).sort(), ['.lock', 'notes'])
  })
})

describe('a service that stops', () => {
  it('releases the folder also when something cannot be closed, and reports what', async (t) => {
    const folder = await temporaryFolder(t)
    const { options } = parseCommandLine(
      ['--host', '127.0.0.1', '--port', '0', '--data', folder],
      {},
      serverFlags,
    )
    const environment = firstStartEnvironment
    const real = createFailingFiles()
    const files = {
      ...real,
      async open(...open: Parameters<typeof real.open>) {
        const file = await real.open(...open)
        if (!open[0].endsWith('audit.jsonl')) return file
        return {
          ...file,
          async close() {
            await file.close()
            throw new Error('made by the test')
          },
        }
      },
    }
    const service = await startService({ options, environment, log: createMemoryLog(), files })
    await assert.rejects(service.stop(), /made by the test/)
    assert.equal((await (await start(t, { folder })).call('/readyz')).status, 200)
  })

  it('closes everything once and in order when it is stopped more than once', async (t) => {
    const folder = await temporaryFolder(t)
    await (await start(t, { folder })).stop()
    const { log, starting } = startAt(folder, createFailingFiles())
    const service = await starting
    await Promise.all([service.stop(), service.stop()])
    await service.stop()
    assert.deepEqual(log.events, [])
    const trail = (await readFile(join(folder, 'audit.jsonl'), 'utf8')).trimEnd().split('\n')
    const events = trail.map((line) => (JSON.parse(line) as { event: string }).event)
    assert.deepEqual(events.slice(-2), ['started', 'stopped'])
  })
})

function startAt(
  folder: string,
  files: ReturnType<typeof createFailingFiles>,
  place = ['--host', '127.0.0.1', '--port', '0'],
) {
  const { options } = parseCommandLine([...place, '--data', folder], {}, serverFlags)
  const log = createMemoryLog()
  return { log, starting: startService({ options, environment: {}, log, files }) }
}
