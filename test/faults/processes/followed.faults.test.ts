import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { getToken } from '../../support/api.ts'
import { readEvents, type ToldEvent } from '../../support/event-reader.ts'
import { runExecutable, startExecutable } from '../../support/executable.ts'
import { type Ask, createClient, recordsIn, type ShownRecord } from '../../support/http-client.ts'
import { createRandom } from '../../support/random.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { Writer } from '../writer.ts'

const WRITERS = 4
const ROUNDS = 20
const REQUESTS = 150

/** The records as events show them. */
class Replica {
  #records = new Map<number, ShownRecord>()
  lastId = ''

  async read(ask: Ask) {
    const list = await ask('GET', '/configurations/')
    this.#records = new Map(recordsIn(list).map((record) => [record.id, record]))
    this.lastId = String(list.headers.etag).slice(1, -1)
  }

  apply({ event, id, data }: ToldEvent) {
    const told = data.configuration as ShownRecord
    const held = this.#records.get(told.id)
    if (event === 'added') assert.equal(held, undefined, `doubled: ${id}`)
    else assert.deepEqual(event === 'removed' ? told : data.before, held, `missed before ${id}`)
    if (event === 'removed') this.#records.delete(told.id)
    else this.#records.set(told.id, told)
    this.lastId = id
  }

  get records(): ShownRecord[] {
    return [...this.#records.values()].sort((a, b) => a.id - b.id)
  }
}

describe('a reader of events', () => {
  it('misses nothing and sees nothing twice over kill -9 and restarts, and is reset after a restore', async (t) => {
    const random = createRandom()
    t.diagnostic(`seed ${random.seed}`)
    const folder = await temporaryFolder(t)
    const data = join(folder, 'data')
    const writers = Array.from({ length: WRITERS }, (_, i) => new Writer(String(i), random))
    const replica = new Replica()
    let credentials: unknown
    const open = async () => {
      const server = await startExecutable(t, ['--data', data])
      // A restore removes the file, and keeps the accounts.
      credentials ??= JSON.parse(await readFile(join(data, 'initial-credentials.json'), 'utf8'))
      const headers = await getToken(server.url, credentials)
      return { server, headers, ask: createClient(server.url, headers) }
    }
    for (let round = 0; round < ROUNDS; round++) {
      const { server, headers, ask } = await open()
      if (round === 0) await replica.read(ask)
      for (const writer of writers) writer.settle(recordsIn(await ask('GET', '/configurations/')))
      const reader = await readEvents(t, server.url, { ...headers, 'Last-Event-ID': replica.lastId })
      let left = random.integer(1, REQUESTS)
      await Promise.all(
        writers.map(async (writer) => {
          while (left-- > 0) await writer.change(ask)
        }),
      )
      server.process.kill('SIGKILL')
      await Promise.all([server.stop('SIGKILL'), reader.ended])
      for (const event of reader.events()) replica.apply(event)
    }
    const { server, headers, ask } = await open()
    const list = await ask('GET', '/configurations/')
    const tag = String(list.headers.etag).slice(1, -1)
    const reader = await readEvents(t, server.url, { ...headers, 'Last-Event-ID': replica.lastId })
    await reader.until(`id: ${tag}\n`)
    for (const event of reader.events()) replica.apply(event)
    assert.deepEqual(replica.records, recordsIn(list))
    assert.equal(replica.lastId, tag)

    const backup = join(folder, 'backup.json')
    assert.equal((await runExecutable(['backup', backup, '--data', data])).code, 0)
    await server.stop()
    assert.equal((await runExecutable(['restore', backup, '--data', data])).code, 0)
    const after = await open()
    const lost = await readEvents(t, after.server.url, { ...after.headers, 'Last-Event-ID': tag })
    const [reset] = await lost.take(1)
    const now = String((await after.ask('HEAD', '/configurations/')).headers.etag).slice(1, -1)
    assert.deepEqual(reset, { event: 'reset', id: now, data: {} })
  })
})
