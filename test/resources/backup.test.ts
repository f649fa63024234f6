import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { dataFiles } from '../../src/files/data-folder.ts'
import { realFileSystem } from '../../src/files/file-system.ts'
import { backupPieces, readBackup } from '../../src/state/backup-document.ts'
import { runCommand } from '../support/command.ts'
import { createFailingFiles, failOn } from '../support/failing-files.ts'
import { namesIn } from '../support/http-client.ts'
import { asOwner } from '../support/owner.ts'
import { start } from '../support/service.ts'
import { draft } from '../support/store.ts'
import { takeBackup } from '../support/taken-backup.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { problemIn } from './administrators.ts'

/** A server with records, of which some are gone, and accounts with grants. */
async function open(t: TestContext) {
  const files = createFailingFiles()
  const service = await start(t, { files, environment: { CONNBOOK_ADMIN_PASSWORD: 'correct horse' } })
  const ask = asOwner(service)
  const labels = { team: 'ä', 'ssh.proxyjump': 'n1' }
  const records = Array.from({ length: 1_200 }, (_, i) => draft(`n${i}`, i % 3 === 0 ? { labels } : {}))
  await ask('POST', '/v1/import', { body: records })
  await ask('PATCH', '/configurations/n7', { body: { port: 2222 } })
  await ask('DELETE', '/configurations/n1199')
  await ask('POST', '/v1/clients/', { body: { name: 'limited', grants: ['read?prefix=n1'] } })
  await ask('PATCH', '/v1/users/admin', { body: { password: 'a good password' } })
  return { files, service, ask }
}

/** What a backup holds, without the moment when it was taken. */
const timeless = (text: string) => ({ ...JSON.parse(text), createdAt: undefined, checksum: undefined })

describe('a backup of a running server', () => {
  for (const query of ['', '?history=1', '?history=0'])
    it(`is the document that the folder has${query}`, async (t) => {
      const { service, ask } = await open(t)
      const answer = await ask('GET', `/v1/backup${query}`)
      assert.equal(answer.status, 200)
      assert.equal(answer.headers['cache-control'], 'no-store')
      const ofFolder = await takeBackup(service.folder, query === '?history=1')
      assert.deepEqual(timeless(answer.text), timeless([...backupPieces(ofFolder)].join('')))
      const what = '1199 records and 3 accounts'
      const history = query === '?history=1' ? `, with a history of ${ofFolder.history?.length} changes` : ''
      assert.equal(answer.headers['connbook-backup'], what + history)
      assert.notEqual(ofFolder.history?.length, 0)
      const file = join(await temporaryFolder(t), 'backup.json')
      await writeFile(file, answer.text)
      const read = await readBackup(file, realFileSystem)
      assert.deepEqual([...read.records], [...ofFolder.records])
      assert.deepEqual([read.accounts, read.history], [ofFolder.accounts, ofFolder.history])
    })

  it('can be restored', async (t) => {
    const { ask } = await open(t)
    const place = await temporaryFolder(t)
    const [file, data] = [join(place, 'backup.json'), join(place, 'data')]
    await writeFile(file, (await ask('GET', '/v1/backup?history=1')).text)
    const { code, stderr } = await runCommand(['restore', file, '--data', data])
    assert.deepEqual([code, stderr], [0, ''])
    const restored = asOwner(await start(t, { folder: data, environment: {} }))
    assert.deepEqual(namesIn(await restored('GET', '/configurations/?name=n7')), ['n7'])
    const { history } = (await restored('GET', '/v1/history/n7')).json<{ history: { event: string }[] }>()
    assert.equal(history[0]?.event, 'configuration_modified')
  })

  it('keeps its time once its caller has it as a whole, and says so if it cannot', async (t) => {
    const { service, files, ask } = await open(t)
    const lastBackup = () => readFile(service.folder.file(dataFiles.lastBackup), 'utf8')
    const begun = new Date().toISOString()
    await ask('GET', '/v1/backup')
    await assert.rejects(lastBackup(), { code: 'ENOENT' })
    assert.equal((await ask('POST', '/v1/backup/complete')).status, 204)
    assert.ok((await lastBackup()) >= begun)
    failOn(files, 'rename', dataFiles.lastBackup, 'ENOSPC')
    assert.deepEqual(problemIn(await ask('POST', '/v1/backup/complete')), [507, 'storage_full'])
  })

  it('is refused for other words, and without a history that can be read', async (t) => {
    const { files, ask } = await open(t)
    for (const query of ['?history=yes', '?with_history=1'])
      assert.deepEqual(problemIn(await ask('GET', `/v1/backup${query}`)), [400, 'invalid_input'])
    failOn(files, 'read', 'audit.jsonl', 'EACCES')
    assert.deepEqual(problemIn(await ask('GET', '/v1/backup?history=1')), [503, 'trail_unavailable'])
  })
})
