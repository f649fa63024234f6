import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createFailingFiles, type FailingFiles, failOn, systemError } from '../support/failing-files.ts'
import { createClient } from '../support/http-client.ts'
import { start } from '../support/service.ts'
import { draft } from '../support/store.ts'
import { readBlock } from './published.ts'

const CHAPTER = 'troubles'

/** Fails on each file that holds records. */
function failWrites(files: FailingFiles, code: string) {
  files.before = (operation, path) => {
    if (['write', 'datasync'].includes(operation) && path.includes('journal')) throw systemError(code, path)
  }
}

describe('the chapter on troubles', () => {
  it('shows the answer on a full disk, and that the next change succeeds when there is room', async (t) => {
    const files = createFailingFiles()
    const service = await start(t, { files })
    const ask = createClient(service.url, { Cookie: await service.cookie() })
    const add = (name: string) => ask('POST', '/configurations/', { body: draft(name) })
    failOn(files, 'write', 'journal', 'ENOSPC')
    assert.equal((await add('a')).text, readBlock(CHAPTER, 'json', 'The disk is full: 507').trim())
    assert.equal((await ask('GET', '/configurations/')).status, 200)
    assert.equal((await add('a')).status, 200)
  })

  it('shows the answer on a failing disk, where reads go on and /readyz is 503', async (t) => {
    const files = createFailingFiles()
    const service = await start(t, { files })
    const ask = createClient(service.url, { Cookie: await service.cookie() })
    failWrites(files, 'EIO')
    const answer = await ask('POST', '/configurations/', { body: draft('a') })
    assert.equal(answer.text, readBlock(CHAPTER, 'json', 'The disk fails: 503').trim())
    assert.equal((await ask('GET', '/configurations/')).status, 200)
    assert.equal((await ask('GET', '/readyz')).status, 503)
  })
})
