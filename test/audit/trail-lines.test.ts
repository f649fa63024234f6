import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { findLastStart } from '../../src/audit/trail-lines.ts'
import { dataPaths } from '../../src/files/data-folder.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const started = (url: unknown, socket?: string) => `${JSON.stringify({ event: 'started', url, socket })}\n`

describe('findLastStart', () => {
  it('finds the last start with a URL, also in an older file', async (t) => {
    const path = await temporaryFolder(t)
    const folder = dataPaths(path)
    assert.equal(await findLastStart(folder), undefined)
    await writeFile(join(path, 'audit.1.jsonl'), started('http://a') + started('http://b', '/s'))
    await writeFile(join(path, 'audit.jsonl'), `${JSON.stringify({ event: 'logged_in' })}\n${started(1)}`)
    assert.deepEqual(await findLastStart(folder), { url: 'http://b', socket: '/s' })
    await writeFile(join(path, 'audit.jsonl'), started('http://c') + started('http://d'))
    assert.deepEqual(await findLastStart(folder), { url: 'http://d', socket: undefined })
  })

  it('finds nothing in a trail that cannot be read', async (t) => {
    const path = await temporaryFolder(t)
    await mkdir(join(path, 'audit.jsonl'))
    assert.equal(await findLastStart(dataPaths(path)), undefined)
  })
})
