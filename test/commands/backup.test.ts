import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import {
  chmod,
  chown,
  mkdir,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  truncate,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import { after, beforeEach, describe, it, type TestContext } from 'node:test'
import { dataFiles } from '../../src/files/data-folder.ts'
import { runCommand } from '../support/command.ts'
import { admin, client, start } from '../support/service.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { copyOf, makeUsedFolder, stateOfBackup, stateOfText } from './kept-state.ts'
import { type Photograph, photograph, photographState } from './photograph.ts'

const used = await makeUsedFolder({ after })
const { folder } = used

async function backup(target: string, data = folder, outputError?: 'ENOSPC' | 'EPIPE') {
  return runCommand(['backup', target, '--data', data], { outputError })
}

/** Nothing else is in the folder, in particular no partial file. */
async function assertOnly(path: string, ...names: string[]) {
  assert.deepEqual((await readdir(path)).sort(), names)
}

async function oldBackup(t: TestContext): Promise<{ place: string; target: string; old: string }> {
  const place = await temporaryFolder(t)
  const target = join(place, 'backup.json')
  const old = await readFile(used.backup, 'utf8')
  await writeFile(target, old, { mode: 0o600 })
  return { place, target, old }
}

describe('connbook backup', () => {
  let before: Photograph
  beforeEach(async () => {
    before = await photographState(folder)
  })

  it('saves records, accounts and the next id in one private JSON document, and changes nothing else', async (t) => {
    const place = await temporaryFolder(t)
    const target = join(place, 'backup.json')
    const { code, stdout, stderr } = await backup(target)
    assert.deepEqual([code, stderr], [0, ''])
    assert.equal(stdout, `Kept 8 records and 2 accounts of ${folder} in ${target}\n`)
    assert.deepEqual(stateOfText(await readFile(target, 'utf8')), used.current)
    assert.deepEqual(await stateOfBackup(target), used.current)
    assert.equal(((await stat(target)).mode & 0o777).toString(8), '600')
    await assertOnly(place, 'backup.json')
    assert.deepEqual(await photographState(folder), before)
  })

  it('writes the same to standard output, and nothing else', async () => {
    const { code, stdout, stderr } = await backup('-')
    assert.deepEqual([code, stderr], [0, ''])
    assert.ok(stdout.endsWith('}\n'))
    assert.deepEqual(stateOfText(stdout), used.current)
    assert.deepEqual(await photographState(folder), before)
  })

  it('holds no secret in the clear, and nothing that grants a session', async (t) => {
    const copy = await copyOf(used, t)
    const made = await runCommand(['client', 'add', 'ci', '--data', copy])
    const generated = /client_secret: (\S+)/.exec(made.stdout)?.[1] ?? assert.fail(made.stdout)
    const { stdout } = await backup('-', copy)
    const keys = await readFile(join(copy, dataFiles.keys), 'utf8')
    const signing = [...keys.matchAll(/"(?:secret|id)": "([^"]+)"/g)].map(([, value]) => value ?? '')
    assert.equal(signing.length, 2)
    const revoked = [
      ...(await readFile(join(copy, dataFiles.revocations), 'utf8')).matchAll(/"jti":"([^"]+)"/g),
    ]
    assert.equal(revoked.length, 1)
    for (const secret of [generated, admin.password, client.client_secret, ...signing, revoked[0]?.[1] ?? ''])
      assert.ok(!stdout.includes(secret), secret)
  })

  it('replaces an existing backup', async (t) => {
    const { place, target, old } = await oldBackup(t)
    assert.equal((await backup(target)).code, 0)
    assert.notEqual(await readFile(target, 'utf8'), old)
    assert.deepEqual(await stateOfBackup(target), used.current)
    await assertOnly(place, 'backup.json')
  })

  it('replaces a damaged backup, and makes one that others could read private', async (t) => {
    const { target } = await oldBackup(t)
    await truncate(target, 1000)
    await chmod(target, 0o644)
    assert.equal((await backup(target)).code, 0)
    assert.deepEqual(await stateOfBackup(target), used.current)
    assert.equal(((await stat(target)).mode & 0o777).toString(8), '600')
  })

  it('saves only the accounts when there are no records', async (t) => {
    const service = await start(t)
    await service.stop()
    const { code, stdout } = await backup('-', service.folder.path)
    assert.equal(code, 0)
    const { records, nextId } = stateOfText(stdout)
    assert.deepEqual([records, nextId], [[], 1])
  })

  it('works beside a running server, from its first answer on', async (t) => {
    const service = await start(t)
    const { code, stdout } = await backup('-', service.folder.path)
    assert.equal(code, 0)
    assert.deepEqual(
      stateOfText(stdout).accounts.users.map(({ name }) => name),
      ['admin'],
    )
  })

  const places: Record<string, (target: string) => Promise<unknown>> = {
    'there is a file that is no backup': (target) => writeFile(target, '{"format":"connbook snapshot",'),
    'it is not a plain file: a folder': (target) => mkdir(target),
    'it is not a plain file: a link': (target) => symlink(used.backup, target),
    'it is not a plain file: a link to nothing': (target) => symlink('absent', target),
  }
  for (const [what, prepare] of Object.entries(places)) {
    it(`refuses a target of another kind: ${what}`, async (t) => {
      const place = await temporaryFolder(t)
      const target = join(place, 'target')
      await prepare(target)
      const look = await photograph(place)
      const { code, stdout, stderr } = await backup(target)
      assert.deepEqual([code, stdout], [1, ''])
      const [reason] = what.split(':')
      assert.equal(stderr, `connbook: Cannot keep a backup in "${target}": ${reason}; name another file\n`)
      assert.deepEqual(await photograph(place), look)
    })
  }

  it('replaces an empty file, such as mktemp makes', async (t) => {
    const target = join(await temporaryFolder(t), 'target')
    await writeFile(target, '')
    assert.equal((await backup(target)).code, 0)
    assert.equal((await runCommand(['check', target])).code, 0)
  })

  it('removes the old temporary file of a killed backup to the same file, and no recent one', async (t) => {
    const { place, target } = await oldBackup(t)
    const left = [
      '.backup.json.0123456789ab.tmp',
      '.backup.json.abcdefabcdef.tmp',
      '.other.json.0123456789ab.tmp',
    ]
    for (const name of left) await writeFile(join(place, name), '')
    const longAgo = new Date(Date.now() - 2 * 60 * 60_000)
    for (const name of [left[0], left[2]]) await utimes(join(place, name ?? ''), longAgo, longAgo)
    assert.equal((await backup(target)).code, 0)
    await assertOnly(place, left[1] ?? '', left[2] ?? '', 'backup.json')
  })

  it('reports that the accounts are lost, and writes nothing', async (t) => {
    const data = await temporaryFolder(t)
    await (await start(t, { folder: data })).stop()
    await rm(join(data, dataFiles.accounts))
    const { code, stdout, stderr } = await backup('-', data)
    assert.deepEqual([code, stdout], [65, ''])
    assert.match(stderr, /accounts\.json": the file is missing/)
  })

  it('refuses a target in the data folder, however the path is written', async (t) => {
    const link = join(await temporaryFolder(t), 'link')
    await symlink(folder, link)
    for (const target of [join(folder, 'backup.json'), join(folder, '..', 'data', 'b'), join(link, 'b')]) {
      const { code, stderr } = await backup(target)
      assert.equal(code, 1)
      assert.match(
        stderr,
        /^connbook: Cannot keep a backup in ".+": it is in the data folder itself; name another file\n$/,
      )
    }
    assert.deepEqual(await photographState(folder), before)
  })

  it('reports that the folder of the target is missing', async (t) => {
    const target = join(await temporaryFolder(t), 'absent', 'backup.json')
    const { code, stderr } = await backup(target)
    assert.equal(code, 1)
    assert.ok(stderr.startsWith(`connbook: Cannot keep a backup in "${target}" (ENOENT)`), stderr)
  })

  for (const [what, outputError] of Object.entries({
    'is full': 'ENOSPC',
    'has no reader': 'EPIPE',
  } as const)) {
    it(`fails with an explanation when standard output ${what}`, async () => {
      const { code, stderr } = await backup('-', folder, outputError)
      assert.equal(code, 1)
      assert.match(
        stderr,
        /^connbook: Cannot write the backup to standard output \((ENOSPC|EPIPE)\); what was written is not complete\n$/,
      )
    })

    it(`reports that the backup is complete when standard output ${what}`, async (t) => {
      const target = join(await temporaryFolder(t), 'backup.json')
      const { stderr } = await backup(target, folder, outputError)
      assert.deepEqual(await stateOfBackup(target), used.current)
      assert.match(
        stderr,
        /^connbook: Cannot show what was done \((ENOSPC|EPIPE)\); the backup is complete\n$/,
      )
    })
  }

  const damaged: [name: keyof typeof dataFiles, bytes: number][] = [
    ['accounts', 20],
    ['journal', 20],
  ]
  for (const [file, bytes] of damaged) {
    it(`writes nothing when ${dataFiles[file]} is damaged`, async (t) => {
      const { place, target, old } = await oldBackup(t)
      const copy = await copyOf(used, t)
      await truncate(join(copy, dataFiles[file]), bytes)
      for (const to of [target, '-']) {
        const { code, stdout, stderr } = await backup(to, copy)
        assert.deepEqual([code, stdout], [65, ''])
        assert.ok(stderr.startsWith(`connbook: Cannot read "${join(copy, dataFiles[file])}": `), stderr)
      }
      assert.equal(await readFile(target, 'utf8'), old)
      await assertOnly(place, 'backup.json')
    })
  }

  it('writes nothing when the journal is gone', async (t) => {
    const copy = await copyOf(used, t)
    await rm(join(copy, dataFiles.journal))
    const { code, stdout, stderr } = await backup('-', copy)
    assert.deepEqual([code, stdout], [65, ''])
    assert.match(stderr, /the journal is missing/)
  })

  it('reports that a folder holds no data, and creates none', async (t) => {
    const place = await temporaryFolder(t)
    await writeFile(join(place, 'file'), '')
    await mkdir(join(place, 'empty'), { mode: 0o700 })
    for (const data of ['absent', 'file', 'empty']) {
      const { code, stdout, stderr } = await backup('-', join(place, data))
      assert.deepEqual([code, stdout], [1, ''])
      assert.equal(
        stderr,
        `connbook: Cannot find anything of connbook in "${join(place, data)}"; name its data folder with --data, or start connbook to make one\n`,
      )
    }
    await assertOnly(place, 'empty', 'file')
  })

  for (const words of ['backup', 'backup a b', 'backup a --port 1', 'backup a --dat x', 'backup a --data']) {
    it(`refuses "${words}" as wrong usage`, async (t) => {
      const place = await temporaryFolder(t)
      const environment = { CONNBOOK_DATA: join(place, 'data') }
      const { code, stdout, stderr } = await runCommand(words.split(' '), { environment })
      assert.deepEqual([code, stdout], [2, ''])
      assert.match(stderr, /^connbook: .+\n$/)
      await assertOnly(place)
    })
  }

  it('belongs only to the user who makes it, whoever owns the folder', {
    skip: process.getuid?.() !== 0,
  }, async (t) => {
    const place = await temporaryFolder(t)
    await chown(place, 1234, 1234)
    assert.equal((await backup(join(place, 'backup.json'))).code, 0)
    assert.equal((await stat(join(place, 'backup.json'))).uid, 0)
  })
})
