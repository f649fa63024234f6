import assert from 'node:assert/strict'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { getToken } from '../../support/api.ts'
import { eventually } from '../../support/eventually.ts'
import { startExecutable } from '../../support/executable.ts'
import { createClient, namesIn } from '../../support/http-client.ts'
import { client, start, usedFolder } from '../../support/service.ts'
import { draft } from '../../support/store.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** Between two changes of a busy client, so that others get their share of the machine. */
const PAUSE_MS = 5

/** A server with a client that keeps changing records. */
export async function startBusy(t: TestContext) {
  let isOver = false
  t.after(() => {
    isOver = true
  })
  const folder = join(await temporaryFolder(t), 'data')
  await cp(await usedFolder(t), folder, { recursive: true })
  const server = await startExecutable(t, ['--data', folder])
  const headers = await getToken(server.url, client)
  const ask = createClient(server.url, headers)
  const added: string[] = []
  const adding = (async () => {
    for (; !isOver; await pause(PAUSE_MS)) {
      const name = `n ${added.length}`
      const answer = await ask('POST', '/configurations/', { body: draft(name) }).catch((error: unknown) => {
        if (!isOver) throw error
      })
      if (answer === undefined) return
      assert.equal(answer.status, 200, answer.text)
      added.push(name)
    }
  })()
  const addMore = async () => {
    const before = added.length
    await Promise.race([adding, eventually('it goes on', () => added.length > before + 2)])
  }
  return {
    folder,
    addMore,
    /** Kills the server and checks that the next one starts at once and finds everything. */
    async killAndCheck() {
      isOver = true
      await adding
      assert.equal(await server.stop('SIGKILL'), 'SIGKILL')
      const next = await start(t, { folder, environment: {} })
      const found = await createClient(next.url, headers)('GET', '/configurations/')
      assert.deepEqual(namesIn(found), added)
      await next.stop()
    },
  }
}
