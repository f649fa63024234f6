import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { getToken } from '../../support/api.ts'
import { startExecutable } from '../../support/executable.ts'
import { type Ask, createClient, recordsIn } from '../../support/http-client.ts'
import { createRandom } from '../../support/random.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { Writer } from '../writer.ts'

const WRITERS = 8
const ROUNDS = 60
const REQUESTS_BEFORE_KILL = { min: 5, max: 400 }

describe('kill -9 under eight writers and a reader', () => {
  it('keeps what was acknowledged or shown; a request without an answer is stored whole or not at all', async (t) => {
    const random = createRandom()
    t.diagnostic(`seed ${random.seed}`)
    const data = join(await temporaryFolder(t), 'data')
    const writers = Array.from({ length: WRITERS }, (_, i) => new Writer(String(i), random))

    for (let round = 0; round < ROUNDS; round++) {
      const server = await startExecutable(t, ['--data', data])
      const credentials: unknown = JSON.parse(await readFile(join(data, 'initial-credentials.json'), 'utf8'))
      const ask = createClient(server.url, await getToken(server.url, credentials))

      const list = await ask('GET', '/configurations/')
      await checkTrail(data, String(list.headers.etag))
      const found = recordsIn(list)
      for (const writer of writers) writer.settle(found)
      assert.equal(new Set(found.map(({ id }) => id)).size, found.length, 'an id was given twice')
      const highestBefore = highestId(writers)
      const given = countIds(writers)

      let left = random.integer(REQUESTS_BEFORE_KILL.min, REQUESTS_BEFORE_KILL.max)
      const isOver = () => left <= 0
      const change = async (writer: Writer) => {
        while (!isOver()) {
          if ((await writer.change(ask)) === undefined) return
          left -= 1
          if (isOver()) server.process.kill('SIGKILL')
        }
      }
      await Promise.all([...writers.map(change), read(ask, writers, isOver)])
      assert.equal(await server.stop('SIGKILL'), 'SIGKILL')

      const ids = writers.flatMap((writer) => [...writer.ids])
      assert.equal(new Set(ids).size, ids.length, 'an id was given twice')
      const added = countIds(writers) - given
      assert.equal(ids.filter((id) => id > highestBefore).length, added, 'an id did not rise')
    }
  })
})

/** Every durable change has one line in the audit trail, which says who made it. */
async function checkTrail(data: string, etag: string) {
  const [, revision] = /^"[0-9a-f]{8}-(\d+)"$/.exec(etag) ?? assert.fail(etag)
  const names = (await readdir(data)).filter((name) => /^audit(\.\d)?\.jsonl$/.test(name))
  const texts = await Promise.all(names.map((name) => readFile(join(data, name), 'utf8')))
  const listed = texts.flatMap((text) =>
    text
      .split('\n')
      .filter((line) => line.includes('"event":"configuration_'))
      .map((line) => JSON.parse(line) as { tag: string; kind: string; request_id: string }),
  )
  assert.ok(listed.every(({ kind, request_id }) => kind === 'client' && request_id !== ''))
  const revisions = listed.map(({ tag }) => Number(tag.slice(tag.indexOf('-') + 1)))
  assert.deepEqual(
    revisions.toSorted((a, b) => a - b),
    Array.from({ length: Number(revision) }, (_, i) => i + 1),
  )
}

async function read(ask: Ask, writers: readonly Writer[], isOver: () => boolean) {
  while (!isOver()) {
    const since = writers.map((writer) => writer.position)
    const answer = await ask('GET', '/configurations/').catch(() => undefined)
    if (answer === undefined) return
    const shown = recordsIn(answer)
    for (const [i, writer] of writers.entries()) writer.observe(shown, since[i] ?? 0)
  }
}

function highestId(writers: readonly Writer[]): number {
  return Math.max(0, ...writers.flatMap((writer) => [...writer.ids]))
}

function countIds(writers: readonly Writer[]): number {
  return writers.reduce((count, writer) => count + writer.ids.size, 0)
}
