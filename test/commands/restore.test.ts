import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { chmod, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { crc32, gzipSync } from 'node:zlib'
import { dataFiles } from '../../src/files/data-folder.ts'
import { openDataFolder } from '../../src/files/owned-folder.ts'
import { pathOf } from '../support/api.ts'
import { runCommand } from '../support/command.ts'
import type { Finished } from '../support/executable.ts'
import { createClient, recordsIn } from '../support/http-client.ts'
import { start } from '../support/service.ts'
import { draft } from '../support/store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { assertBrokenBackupsRefused } from './broken-backups.ts'
import { copyOf, makeUsedFolder, stateIn } from './kept-state.ts'
import { contentsIn, photograph } from './photograph.ts'

const used = await makeUsedFolder({ after })
const backupText = await readFile(used.backup, 'utf8')

/** An altered backup with a valid checksum. */
function reseal(text: string): string {
  const body = text.slice(0, text.lastIndexOf('],"checksum"'))
  return `${body}],"checksum":"${crc32(body).toString(16).padStart(8, '0')}"}\n`
}

function restore(folder: string, backup = used.backup, outputError?: 'ENOSPC' | 'EPIPE') {
  return runCommand(['restore', backup, '--data', folder], { outputError })
}

function asideIn({ stdout }: Finished): string {
  return /^What was there before is in (.+)$/m.exec(stdout)?.[1] ?? assert.fail(stdout)
}

/** Everything but the locks, which any opening of a folder creates. */
async function unlocked(folder: string) {
  const shots = Object.entries(await photograph(folder))
  return Object.fromEntries(
    shots
      .filter(([path]) => !path.endsWith('lock'))
      .map(([path, { mtimeMs, ...shot }]) => [path, path === '.' ? shot : { ...shot, mtimeMs }]),
  )
}

async function assertRestored(folder: string, finished: Finished, before: Record<string, string>) {
  assert.deepEqual([finished.code, finished.stderr], [0, ''])
  const aside = asideIn(finished)
  assert.deepEqual(await contentsIn(aside), before)
  assert.deepEqual(await stateIn(folder), used.kept)
}

describe('connbook restore', () => {
  it('restores the records, ids, next id and accounts of the backup, and keeps the old files', async (t) => {
    const folder = await copyOf(used, t)
    const before = await contentsIn(folder)
    const finished = await restore(folder)
    await assertRestored(folder, finished, before)
    const createdAt = /"createdAt":"([^"]+)"/.exec(backupText)?.[1]
    const lines = finished.stdout.split('\n')
    assert.equal(lines[0], `Restored 7 records and 2 accounts to ${folder}, as they were at ${createdAt}`)
    assert.match(
      lines[1] ?? '',
      /^What was there before is in .+\/data\/before-restore-\d{8}T\d{6}Z-[0-9a-f]{6}$/,
    )
    assert.deepEqual(lines.slice(2), [
      'Every session and token has ended',
      'The history begins anew: the backup has none; see connbook help history',
      '',
    ])
  })

  it('leaves only private files', async (t) => {
    const folder = await copyOf(used, t)
    await restore(folder)
    for (const [path, { mode }] of Object.entries(await photograph(folder))) {
      assert.match(mode, /^(40700|100600)$/, path)
    }
    assert.deepEqual(Object.keys(await contentsIn(folder)).sort(), [
      'accounts.json',
      'journal.jsonl',
      'keys.json',
      'revocations.jsonl',
      'snapshot.json',
    ])
  })

  it('ends every session and token, lets the accounts log in again, and continues with the next id', async (t) => {
    const folder = await copyOf(used, t)
    const etags: (string | undefined)[] = []
    const first = await start(t, { folder })
    const old = used.credentials[0] ?? assert.fail()
    etags.push((await createClient(first.url, old)('GET', '/configurations/')).headers.etag)
    await first.stop()
    assert.equal((await restore(folder)).code, 0)

    const service = await start(t, { folder })
    for (const headers of used.credentials) {
      assert.equal((await createClient(service.url, headers)('GET', '/configurations/')).status, 403)
    }
    const token = createClient(service.url, { Authorization: await service.bearer() })
    assert.equal((await token('GET', '/configurations/')).status, 200)
    const ask = createClient(service.url, { Cookie: await service.cookie() })
    const list = await ask('GET', '/configurations/')
    assert.deepEqual(recordsIn(list), used.kept.records)
    etags.push(list.headers.etag)
    const stale = { 'If-None-Match': etags[0] ?? '' }
    assert.equal((await ask('GET', '/configurations/', { headers: stale })).status, 200)
    const [added] = recordsIn(await ask('POST', '/configurations/', { body: draft('new') }))
    assert.equal(added?.id, used.kept.nextId)
    await service.stop()
  })

  it('gives lists new entity tags, even after the same number of changes', async (t) => {
    const folder = await copyOf(used, t)
    assert.equal((await restore(folder)).code, 0)
    const tags = new Set<string | undefined>()
    for (const again of [false, true]) {
      if (again) assert.equal((await restore(folder)).code, 0)
      const service = await start(t, { folder })
      const ask = createClient(service.url, { Cookie: await service.cookie() })
      const port = again ? 1 : 2
      assert.equal((await ask('PATCH', pathOf('kept 1'), { body: { port } })).status, 200)
      tags.add((await ask('GET', '/configurations/')).headers.etag)
      await service.stop()
    }
    assert.equal(tags.size, 2)
  })

  it('makes a folder whose own backup has the same content', async (t) => {
    const folder = await copyOf(used, t)
    await restore(folder)
    const again = join(folder, '..', 'again.json')
    assert.equal((await runCommand(['backup', again, '--data', folder])).code, 0)
    const other = join(folder, '..', 'other')
    assert.equal((await restore(other, again)).code, 0)
    assert.deepEqual(await stateIn(other), used.kept)
  })

  it('creates a missing folder, and fills an empty one', async (t) => {
    const root = await temporaryFolder(t)
    await mkdir(join(root, 'empty'), { mode: 0o755 })
    for (const name of ['empty', 'missing']) {
      const folder = join(root, name)
      const { code, stdout } = await restore(folder)
      assert.equal(code, 0)
      assert.doesNotMatch(stdout, /before/)
      assert.deepEqual(await stateIn(folder), used.kept)
      assert.ok(!(await readdir(folder)).some((entry) => entry.startsWith('before-restore')))
    }
  })

  it('makes no folder above the data folder', async (t) => {
    const root = await temporaryFolder(t)
    const { code, stderr } = await restore(join(root, 'missing', 'below'))
    assert.equal(code, 1)
    assert.match(stderr, /there is no folder ".+\/missing"/)
    assert.deepEqual(await readdir(root), [])
  })

  it('names a link to nothing, as the other commands do', async (t) => {
    const link = join(await temporaryFolder(t), 'link')
    await symlink('/nowhere/at/all', link)
    for (const words of [['check'], ['user', 'list'], ['user', 'add', 'eve']]) {
      const { code, stderr } = await runCommand([...words, '--data', link], { input: 'a secret' })
      assert.deepEqual([code, stderr.includes('a link to "/nowhere/at/all"')], [1, true], stderr)
    }
    assert.match((await restore(link)).stderr, /a link to "\/nowhere\/at\/all"/)
  })

  it('leaves foreign files, and files set aside earlier, where they are', async (t) => {
    const folder = await copyOf(used, t)
    const foreign = { 'notes.txt': 'mine', '.gitignore': '*', 'journal.torn-12-abcdef': 'torn' }
    for (const [name, text] of Object.entries(foreign)) await writeFile(join(folder, name), text)
    await mkdir(join(folder, 'lost+found'))
    const first = asideIn(await restore(folder))
    const look = await photograph(first)
    const second = asideIn(await restore(folder))
    assert.notEqual(first, second)
    assert.deepEqual(await photograph(first), look)
    const contents = await contentsIn(folder)
    for (const [name, text] of Object.entries(foreign)) assert.equal(contents[name], text)
    assert.ok((await readdir(folder)).includes('lost+found'))
  })

  const kinds: Record<string, (folder: string) => Promise<unknown>> = {
    'every file is garbage': async (folder) => {
      for (const name of Object.keys(await contentsIn(folder))) await writeFile(join(folder, name), 'garbage')
    },
    'every file is empty': async (folder) => {
      for (const name of Object.keys(await contentsIn(folder))) await writeFile(join(folder, name), '')
    },
    'the accounts are gone': (folder) => rm(join(folder, dataFiles.accounts)),
    'the keys are gone': (folder) => rm(join(folder, dataFiles.keys)),
    'the revocations are gone': (folder) => rm(join(folder, dataFiles.revocations)),
    'the journal is gone': (folder) => rm(join(folder, dataFiles.journal)),
    'an old journal of another store is left': (folder) =>
      writeFile(join(folder, dataFiles.journalOld), 'of another store'),
    'a first start was cut off': async (folder) => {
      await rm(join(folder, dataFiles.accounts))
      await writeFile(join(folder, dataFiles.initialCredentials), '{}')
    },
  }
  for (const [what, damage] of Object.entries(kinds)) {
    it(`repairs a folder in which ${what}`, async (t) => {
      const folder = await copyOf(used, t)
      await damage(folder)
      const before = await contentsIn(folder)
      await assertRestored(folder, await restore(folder), before)
    })
  }

  it('refuses a folder that a server uses, and changes nothing', async (t) => {
    const folder = await copyOf(used, t)
    const owner = await openDataFolder(folder)
    t.after(() => owner.release())
    const before = await photograph(folder)
    const { code, stdout, stderr } = await restore(folder)
    assert.deepEqual([code, stdout], [75, ''])
    assert.match(
      stderr,
      /another process has it \(pid \d+, node\); stop that one, or name another folder with --data\n$/,
    )
    assert.deepEqual(await photograph(folder), before)
  })

  it('refuses a folder that others can access, and changes nothing', async (t) => {
    const folder = await copyOf(used, t)
    await chmod(folder, 0o755)
    const before = await photograph(folder)
    const { code, stderr } = await restore(folder)
    assert.equal(code, 1)
    assert.match(stderr, /others can get at it/)
    assert.deepEqual(await photograph(folder), before)
  })

  const wrong: Record<string, [text: string, said: RegExp]> = {
    'is empty': ['', /the file is empty at byte 0; use another backup/],
    'is something else': [
      '{"a": 1}\n',
      /the first line is not a connbook backup header at byte 0; use another backup/,
    ],
    'is of a later version': [
      reseal(backupText.replace('"version":4', '"version":5')),
      /version 5 is unknown to this program, which reads 4, at byte 0; use the connbook that wrote it, or a newer one/,
    ],
    'claims a later version because of damage': [
      backupText.replace('"version":4', '"version":5'),
      /the checksum differs at byte \d+; use another backup/,
    ],
    'has an unknown member': [
      reseal(backupText.replace('"createdAt"', '"labels":{},"createdAt"')),
      /newer connbook: the member "labels" of the header is unknown .*; use the connbook that wrote it/,
    ],
    'has an unknown member in its accounts': [
      reseal(backupText.replace('"lastGeneration"', '"groups":[],"lastGeneration"')),
      /newer connbook: the member "groups" of the accounts is unknown .*; use the connbook that wrote it/,
    ],
    'has an unknown member in a record': [
      reseal(backupText.replace('"port"', '"note":"x","port"')),
      /newer connbook: the member "note" of a record is unknown .*; use the connbook that wrote it/,
    ],
    'lacks its last line': [
      backupText.replace(/\n\].*\n$/, '\n'),
      /the file was cut at byte \d+; use another backup/,
    ],
    'has data after its end': [`${backupText}x\n`, /something stands behind the end at byte \d+/],
    'has two records swapped': [
      backupText.replace(/(\{"id":1,.*\},)\n(\{"id":2,.*\},)\n/, '$2\n$1\n'),
      /the line is no record at byte \d+/,
    ],
    'is stored with other line endings': [backupText.replaceAll('\n', '\r\n'), /use another backup/],
    'is indented': [JSON.stringify(JSON.parse(backupText), null, 2), /use another backup/],
  }
  for (const [what, [text, said]] of Object.entries(wrong)) {
    it(`refuses a backup that ${what}, and changes nothing`, async (t) => {
      assert.notEqual(text, backupText)
      const folder = await copyOf(used, t)
      const path = join(folder, '..', 'backup.json')
      await writeFile(path, text)
      const before = await photograph(folder)
      const { code, stdout, stderr } = await restore(folder, path)
      assert.deepEqual([code, stdout], [65, ''])
      assert.ok(stderr.startsWith(`connbook: Cannot read "${path}": `), stderr)
      assert.match(stderr, said)
      assert.deepEqual(await photograph(folder), before)
    })
  }

  it('refuses a backup cut at any length or with any bit flipped, and changes nothing', (t) =>
    assertBrokenBackupsRefused(t, used, 8))

  it('takes a backup from standard input and from gzip', async (t) => {
    const packed = gzipSync(backupText)
    const root = await temporaryFolder(t)
    await writeFile(join(root, 'backup.gz'), packed)
    const rows: [source: string, input: Buffer | string][] = [
      ['-', backupText],
      ['/dev/stdin', packed],
      ['-', packed],
      [join(root, 'backup.gz'), ''],
    ]
    for (const [i, [source, input]] of rows.entries()) {
      const folder = join(root, `data${i}`)
      const { code, stdout, stderr } = await runCommand(['restore', source, '--data', folder], { input })
      assert.deepEqual([code, stderr], [0, ''], source)
      assert.match(stdout, /^Restored /)
    }
  })

  it('refuses anything but a backup file: a snapshot, a folder, nothing', async (t) => {
    const folder = await copyOf(used, t)
    const root = join(folder, '..')
    const service = await runCommand(['restore', used.backup, '--data', join(root, 'other')])
    assert.equal(service.code, 0)
    await writeFile(join(root, 'backup.gz'), gzipSync(backupText).subarray(0, -9))
    const before = await photograph(folder)
    const sources: [path: string, code: number, said: RegExp][] = [
      [join(root, 'other', dataFiles.snapshot), 65, /not a connbook backup header/],
      [root, 2, /it is not a plain file; a folder is named with --data/],
      [join(root, 'absent'), 1, /absent" \(ENOENT\); name a file/],
      [
        '-',
        65,
        /^connbook: Cannot read "standard input": the file is empty at byte 0; use another backup\n$/,
      ],
      [
        join(root, 'backup.gz'),
        65,
        /the compressed data is damaged or cut off at byte \d+; use another backup/,
      ],
    ]
    for (const [path, code, said] of sources) {
      const finished = await restore(folder, path)
      assert.equal(finished.code, code, `${path}: ${finished.stderr}`)
      assert.match(finished.stderr, said)
      assert.deepEqual(await photograph(folder), before)
    }
  })

  it('creates no folder for a backup that it refuses', async (t) => {
    const root = await temporaryFolder(t)
    await writeFile(join(root, 'backup.json'), backupText.slice(0, 500))
    assert.equal((await restore(join(root, 'data'), join(root, 'backup.json'))).code, 65)
    assert.deepEqual(await readdir(root), ['backup.json'])
  })

  for (const [what, outputError] of Object.entries({
    'is full': 'ENOSPC',
    'has no reader': 'EPIPE',
  } as const)) {
    it(`reports that the restore is complete when standard output ${what}`, async (t) => {
      const folder = await copyOf(used, t)
      const { code, stderr } = await restore(folder, used.backup, outputError)
      assert.equal(code, 1)
      assert.match(
        stderr,
        /^connbook: Cannot show what was done \((ENOSPC|EPIPE)\); the restore is complete\n$/,
      )
      assert.deepEqual(await stateIn(folder), used.kept)
    })
  }

  for (const words of ['restore', 'restore a b', 'restore a --port 1', 'restore a --data']) {
    it(`refuses "${words}" as wrong usage`, async (t) => {
      const place = await temporaryFolder(t)
      const environment = { CONNBOOK_DATA: join(place, 'data') }
      const { code, stdout, stderr } = await runCommand(words.split(' '), { environment })
      assert.deepEqual([code, stdout], [2, ''])
      assert.match(stderr, /^connbook: .+\n$/)
      assert.deepEqual(await readdir(place), [])
    })
  }

  it('makes other commands refuse the folder until it is complete', async (t) => {
    const folder = await copyOf(used, t)
    await mkdir(join(folder, 'restore-20260101T000000Z-abcdef.begun'), { mode: 0o700 })
    const before = await unlocked(folder)
    const commands = [
      ['check'],
      ['backup', '-'],
      ['user', 'add', 'eve'],
      ['user', 'list'],
      ['client', 'rotate', 'script'],
    ]
    for (const command of commands) {
      const { code, stdout, stderr } = await runCommand([...command, '--data', folder], {
        input: 'a secret',
      })
      assert.deepEqual([code, stdout], [1, ''])
      assert.match(stderr, /a restore is not complete.+wait for it, or start connbook, which completes it\n$/)
    }
    assert.deepEqual(await unlocked(folder), before)
  })
})
