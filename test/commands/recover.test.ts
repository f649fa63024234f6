import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { mkdir, readdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { dataFiles, stateFiles } from '../../src/files/data-folder.ts'
import { openDataFolder } from '../../src/files/owned-folder.ts'
import { addedBy } from '../audit/trail.ts'
import { newerVersion } from '../faults/damage/damage-kinds.ts'
import { logIn } from '../support/api.ts'
import { runCommand } from '../support/command.ts'
import { createClient, recordsIn } from '../support/http-client.ts'
import { start } from '../support/service.ts'
import { draft } from '../support/store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { copyOf, makeUsedFolder, stateIn } from './kept-state.ts'
import { contentsIn } from './photograph.ts'

const used = await makeUsedFolder({ after })

const recover = (folder: string, ...more: string[]) => runCommand(['recover', '--data', folder, ...more])

/** Damages the change that added a record. */
async function damageAddOf(folder: string, name: string) {
  const path = join(folder, dataFiles.journal)
  const text = await readFile(path, 'utf8')
  await writeFile(path, text.replace(`"name":"${name}","hostname":"h`, `"name":"${name}","hostname":"j`))
  assert.notEqual(await readFile(path, 'utf8'), text)
}

describe('connbook recover', () => {
  it('says that a sound folder is sound, and changes nothing', async (t) => {
    const folder = await copyOf(used, t)
    const before = await contentsIn(folder)
    for (const more of [[], ['--yes']]) {
      assert.deepEqual(await recover(folder, ...more), {
        code: 0,
        stdout: 'The folder is sound: there is nothing to recover\n',
        stderr: '',
      })
    }
    assert.deepEqual(await contentsIn(folder), before)
  })

  it('keeps what can be read, with the accounts, and the old files aside', async (t) => {
    const folder = await copyOf(used, t)
    await damageAddOf(folder, 'kept 5')
    const before = await contentsIn(folder)
    const { code, stdout, stderr } = await recover(folder, '--yes')
    assert.deepEqual([code, stderr], [0, ''])
    const lines = stdout.split('\n')
    assert.equal(lines[0], folder)
    assert.match(lines[1] ?? '', /^ {2}journal\.jsonl {2}DAMAGED: Cannot read ".*"connbook recover"$/)
    assert.equal(lines[2], `Can be salvaged: 7 records; the next id is ${used.current.nextId}`)
    assert.ok(lines.includes(`Recovered 7 records and 2 accounts in ${folder}`))
    const aside = /^What was there before is in (.+)$/m.exec(stdout)?.[1] ?? assert.fail(stdout)
    assert.deepEqual(await contentsIn(aside), before)
    const kept = used.current.records.filter(({ name }) => name !== 'kept 5')
    assert.deepEqual(await stateIn(folder), { ...used.current, records: kept })
    assert.equal((await runCommand(['check', '--data', folder])).code, 0)
  })

  it('ends every session and token, and lets the accounts log in again', async (t) => {
    const folder = await copyOf(used, t)
    await truncate(join(folder, dataFiles.keys), 10)
    assert.equal((await recover(folder, '--yes')).code, 0)
    const service = await start(t, { folder })
    for (const headers of used.credentials)
      assert.equal((await createClient(service.url, headers)('GET', '/configurations/')).status, 403)
    const ask = createClient(service.url, { Cookie: await service.cookie() })
    const [added] = recordsIn(await ask('POST', '/configurations/', { body: draft('new') }))
    assert.equal(added?.id, used.current.nextId)
    await service.stop()
  })

  it('makes new first accounts where those cannot be read', async (t) => {
    const folder = await copyOf(used, t)
    const path = join(folder, dataFiles.accounts)
    await truncate(path, 10)
    const { code, stdout } = await recover(folder, '--yes')
    assert.equal(code, 0)
    const initial = join(folder, dataFiles.initialCredentials)
    assert.ok(
      stdout.includes(`New accounts: user "admin", client "default"; their secrets are in ${initial}\n`),
      stdout,
    )
    const given = JSON.parse(await readFile(initial, 'utf8')) as unknown
    const service = await start(t, { folder, environment: {} })
    const ask = createClient(service.url, await logIn(service.url, given))
    assert.deepEqual(recordsIn(await ask('GET', '/configurations/')), used.current.records)
    await service.stop()
  })

  it('takes new first accounts from the variables of a first start', async (t) => {
    const folder = await copyOf(used, t)
    await rm(join(folder, dataFiles.accounts))
    const environment = {
      CONNBOOK_ADMIN_USERNAME: 'root',
      CONNBOOK_ADMIN_PASSWORD: 'a password',
      CONNBOOK_CLIENT_SECRET: 'a secret of the client',
    }
    const { code, stdout } = await runCommand(['recover', '--yes', '--data', folder], { environment })
    assert.equal(code, 0)
    assert.match(stdout, /^New accounts: user "root", client "default"$/m)
    assert.ok(!(await readdir(folder)).includes(dataFiles.initialCredentials))
    assert.ok(!stdout.includes('a password'))
  })

  it('asks for --yes without a terminal, after it has shown what would be lost', async (t) => {
    const folder = await copyOf(used, t)
    await damageAddOf(folder, 'kept 5')
    const before = await contentsIn(folder)
    const { code, stdout, stderr } = await recover(folder)
    assert.equal(code, 2)
    assert.match(stdout, /^Lost: the changes of revision \d+$/m)
    assert.equal(
      stderr,
      'connbook: There is no terminal to ask on; nothing has changed; if you are sure, add --yes\n',
    )
    assert.deepEqual(await contentsIn(folder), before)
  })

  it('changes nothing when it cannot show what would be lost', async (t) => {
    const folder = await copyOf(used, t)
    await damageAddOf(folder, 'kept 5')
    const before = await contentsIn(folder)
    const { code, stderr } = await runCommand(['recover', '--yes', '--data', folder], {
      outputError: 'EPIPE',
    })
    assert.deepEqual(
      [code, stderr],
      [1, 'connbook: Cannot show what would be lost (EPIPE); nothing has changed\n'],
    )
    assert.deepEqual(await contentsIn(folder), before)
  })

  it('leaves a line in the audit trail', async (t) => {
    const folder = await copyOf(used, t)
    await damageAddOf(folder, 'kept 5')
    const added = await addedBy(folder, () => recover(folder, '--yes'))
    assert.deepEqual(added, [
      {
        event: 'recovered',
        command: 'recover',
        by: userInfo().username,
        records: 7,
        lost_changes: 1,
        left_out: 0,
        accounts: 'kept',
      },
    ])
  })

  it('refuses a folder that another process has, with 75', async (t) => {
    const folder = await copyOf(used, t)
    await damageAddOf(folder, 'kept 5')
    const owner = await openDataFolder(folder)
    t.after(() => owner.release())
    const before = await contentsIn(folder)
    assert.equal((await recover(folder, '--yes')).code, 75)
    assert.deepEqual(await contentsIn(folder), before)
  })

  it('refuses a folder of a newer connbook, with 65 and its advice', async (t) => {
    const folder = await copyOf(used, t)
    const path = join(folder, dataFiles.journal)
    await writeFile(path, newerVersion(await readFile(path)))
    await truncate(join(folder, dataFiles.keys), 10)
    const before = await contentsIn(folder)
    const { code, stdout, stderr } = await recover(folder, '--yes')
    assert.deepEqual([code, stdout], [65, ''])
    assert.match(stderr, /written by a newer connbook: .*; use the connbook that wrote it/)
    assert.deepEqual(await contentsIn(folder), before)
  })

  it('completes an interrupted restore, and says so', async (t) => {
    const folder = await copyOf(used, t)
    const begun = 'restore-20260102T030405Z-abcdef.begun'
    await mkdir(join(folder, begun), { mode: 0o700 })
    for (const name of await readdir(folder)) {
      if (stateFiles.includes(name)) await rename(join(folder, name), join(folder, begun, name))
    }
    const added = await addedBy(folder, async () => {
      const { code, stdout } = await recover(folder)
      assert.equal(code, 0)
      assert.equal(
        stdout,
        `Completed "${begun}", which was interrupted\nThe folder is sound: there is nothing to recover\n`,
      )
    })
    assert.deepEqual(
      added.map(({ event, completed }) => [event, completed]),
      [['restored', begun]],
    )
    assert.deepEqual(await stateIn(folder), used.current)
  })

  it('makes no folder of a mistyped path', async (t) => {
    const folder = join(await temporaryFolder(t), 'data')
    const { code, stderr } = await recover(folder, '--yes')
    assert.equal(code, 1)
    assert.match(stderr, /Cannot find anything of connbook in/)
    assert.deepEqual(await readdir(join(folder, '..')), [])
  })
})
