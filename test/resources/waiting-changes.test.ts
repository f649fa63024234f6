import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { dataFiles } from '../../src/files/data-folder.ts'
import type { Request } from '../../src/http/message.ts'
import { configurationHandlers } from '../../src/resources/configurations.ts'
import { Scheduler } from '../../src/scheduler.ts'
import { createFailingFiles, holdUp } from '../support/failing-files.ts'
import { draft, names, openStore, someone } from '../support/store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** A request of a client that waits, until the test aborts the signal or ends the credential. */
function requestOf(body: unknown) {
  const leaver = new AbortController()
  const held = { isAllowed: true }
  const request = {
    headers: { 'content-type': 'application/json' },
    query: '',
    address: '127.0.0.1',
    requestId: 'a-request',
    principal: { kind: 'user', name: 'someone', scope: 'read write' },
    signal: leaver.signal,
    readBody: async () => Buffer.from(JSON.stringify(body)),
    checkAgain() {
      if (!held.isAllowed) throw new Error('logged out')
    },
  } as unknown as Request
  return { request, leaver, held }
}

describe('a request that waits for a large import', () => {
  for (const [what, end, message] of [
    ['is given up when its client goes', ({ leaver }) => leaver.abort(new Error('gone')), 'gone'],
    [
      'is refused when its credential ended meanwhile',
      ({ held }) => {
        held.isAllowed = false
      },
      'logged out',
    ],
  ] as [string, (sent: ReturnType<typeof requestOf>) => void, string][]) {
    it(what, async (t) => {
      const files = createFailingFiles()
      const { store } = await openStore(t, await temporaryFolder(t), { files })
      const { add, modify, remove } = configurationHandlers(store, '', new Scheduler())
      for (const name of ['a', 'b']) await store.add(someone, draft(name))
      const disk = holdUp(files, 'write', dataFiles.journal)
      const importing = store.importAll(someone, [draft('c'), draft('d')], 'merge')
      await disk.begun
      const sent = [draft('e'), { port: 1 }, undefined].map(requestOf)
      const [first, second, third] = sent.map(({ request }) => request)
      assert.ok(first && second && third)
      const answers = [add(first), modify(second, 'a'), remove(third, 'b')].map((answer) =>
        assert.rejects(answer, { message }),
      )
      for (const one of sent) end(one)
      disk.release()
      await Promise.all([...answers, importing])
      assert.deepEqual(names(store), ['a', 'b', 'c', 'd'])
      assert.equal(store.find('a')?.port, 22)
    })
  }
})
