import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { appendFile, chmod, cp, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, describe, it, type TestContext } from 'node:test'
import { gzipSync } from 'node:zlib'
import { DamagedFileError } from '../../src/errors.ts'
import { dataFiles } from '../../src/files/data-folder.ts'
import { realFileSystem } from '../../src/files/file-system.ts'
import { encodeFrame } from '../../src/journal/frame.ts'
import { createJournalFile } from '../../src/journal/journal-file.ts'
import { CHANGE_VERSION } from '../../src/store/change.ts'
import { runCommand } from '../support/command.ts'
import { type FolderImage, writeImage } from '../support/folder-image.ts'
import { prepareFolders } from '../support/prepared-folder.ts'
import { start } from '../support/service.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { check, said } from './checked-folder.ts'
import { copyOf, makeUsedFolder } from './kept-state.ts'
import { photograph } from './photograph.ts'

const used = await makeUsedFolder({ after })
/** A folder with a snapshot and two journals. */
const { compacting } = await prepareFolders({ after })

async function writeFolder(t: TestContext, image: FolderImage): Promise<string> {
  const folder = join(await temporaryFolder(t), 'data')
  await writeImage(folder, image)
  return folder
}

describe('connbook check', () => {
  it('lists the content of a folder, and reports that it is sound', async () => {
    const { code, stdout, stderr } = await check(used.folder)
    assert.deepEqual([code, stderr], [0, ''])
    assert.equal(
      stdout,
      [
        used.folder,
        '  accounts.json      1 user, 1 client',
        '  keys.json          1 signing key',
        '  revocations.jsonl  1 ended credential',
        '  journal.jsonl      15 changes, up to revision 15',
        '  audit.jsonl        who did what',
        '8 records, next id 12',
        'The folder is sound',
        '',
      ].join('\n'),
    )
  })

  it('says so when what it found could not be shown', async () => {
    for (const outputError of ['EPIPE', 'ENOSPC'] as const)
      for (const words of [['check'], ['check', used.backup]]) {
        const { code, stderr } = await runCommand([...words, '--data', used.folder], { outputError })
        assert.deepEqual([code, stderr], [1, `connbook: Cannot show what was found (${outputError})\n`])
      }
  })

  it('lists a snapshot, both journals, and the secrets of the first start', async (t) => {
    const folder = await writeFolder(t, compacting.image)
    const { code, stdout } = await check(folder)
    assert.equal(code, 0)
    const words = said(stdout)
    assert.match(words['snapshot.json'] ?? '', /^\d+ records, up to revision \d+$/)
    assert.match(
      words['journal.old.jsonl'] ?? '',
      /^\d+ changes, up to revision \d+; it goes when the next snapshot is written$/,
    )
    assert.match(words['journal.jsonl'] ?? '', /^6 changes, up to revision \d+$/)
    assert.equal(
      words['initial-credentials.json'],
      'secrets of the first start, in the clear; each goes when it is changed',
    )
    const { records, nextId } = compacting.state
    assert.ok(stdout.endsWith(`${records.length} records, next id ${nextId}\nThe folder is sound\n`), stdout)
  })

  it('reports torn tails, and cuts nothing', async (t) => {
    const folder = await copyOf(used, t)
    await appendFile(join(folder, dataFiles.journal), 'deadbeef 41 [{"ad')
    await appendFile(join(folder, dataFiles.revocations), 'd')
    const { code, stdout } = await check(folder)
    assert.equal(code, 0)
    const words = said(stdout)
    assert.equal(
      words['journal.jsonl'],
      '15 changes, up to revision 15; then 17 bytes of a change that is just being written, or that a crash cut off',
    )
    assert.match(
      words['revocations.jsonl'] ?? '',
      /^1 ended credential; then 1 byte of a change that is just/,
    )
  })

  it('describes every other file in the folder', async (t) => {
    const folder = await copyOf(used, t)
    const others: Record<string, string> = {
      '.snapshot.json.0123456789ab.tmp':
        'being written, or left by a crash; then the next to write the file removes it',
      'audit.1.jsonl': 'who did what',
      'journal.torn-120-abcdef': 'a half-written end that a crash left, cut off and kept',
      'notes.txt': 'not of connbook, which leaves it alone',
      '.gitignore': 'not of connbook, which leaves it alone',
    }
    for (const name of Object.keys(others)) await writeFile(join(folder, name), 'x')
    await mkdir(join(folder, 'before-restore-20260101T000000Z-abcdef'))
    await mkdir(join(folder, '.restore-20260101T000000Z-abcdef.tmp'))
    await mkdir(join(folder, 'lost+found'))
    await symlink('absent', join(folder, 'link'))
    const { code, stdout } = await check(folder)
    assert.equal(code, 0)
    const words = said(stdout)
    for (const [name, expected] of Object.entries(others)) assert.equal(words[name], expected)
    assert.equal(words['before-restore-20260101T000000Z-abcdef'], 'what was there before a restore')
    assert.match(words['.restore-20260101T000000Z-abcdef.tmp'] ?? '', /^being written, or left by a crash/)
    for (const name of ['lost+found', 'link']) assert.equal(words[name], others['notes.txt'])
  })

  it('reports a first start that did not finish', async (t) => {
    const folder = await copyOf(used, t)
    for (const name of Object.values(dataFiles)) await rm(join(folder, name), { force: true })
    await createJournalFile(
      join(folder, dataFiles.journal),
      { store: 's', after: 0, version: CHANGE_VERSION },
      realFileSystem,
    )
    const { code, stdout } = await check(folder)
    assert.equal(code, 0)
    assert.match(said(stdout)['accounts.json'] ?? '', /^not yet there: a first start did not come to its end/)
  })

  it('finds no data when only the locks are left, that of older folders too', async (t) => {
    const folder = await temporaryFolder(t)
    for (const name of [dataFiles.lock, '.accounts-lock']) await writeFile(join(folder, name), '')
    const { code, stderr } = await check(folder)
    assert.equal(code, 1)
    assert.match(stderr, /Cannot find anything of connbook/)
  })

  it('does not mistake lost accounts and a lost journal for a first start', async (t) => {
    const folder = await copyOf(used, t)
    for (const name of [dataFiles.accounts, dataFiles.journal, dataFiles.snapshot, dataFiles.journalOld])
      await rm(join(folder, name), { force: true })
    const { code, stdout } = await check(folder)
    assert.equal(code, 65)
    assert.match(said(stdout)['journal.jsonl'] ?? '', /^DAMAGED: .*the journal is missing/)
  })

  type Damage = (folder: string) => Promise<unknown>
  const overwrite =
    (name: string, text = 'garbage\n'): Damage =>
    (folder) =>
      writeFile(join(folder, name), text)
  const remove =
    (name: string): Damage =>
    (folder) =>
      rm(join(folder, name))
  const flip =
    (name: string): Damage =>
    async (folder) => {
      const path = join(folder, name)
      const bytes = await readFile(path)
      const middle = bytes.length >> 1
      bytes[middle] = (bytes[middle] ?? 0) ^ 1
      await writeFile(path, bytes)
    }
  const cut =
    (name: string): Damage =>
    async (folder) => {
      const path = join(folder, name)
      await writeFile(path, (await readFile(path)).subarray(0, 60))
    }
  const kinds: [name: string, what: string, damage: Damage, words: RegExp][] = [
    [
      'accounts.json',
      'is garbage',
      overwrite('accounts.json'),
      /it is no "connbook accounts" file at byte 0/,
    ],
    ['accounts.json', 'has a flipped bit', flip('accounts.json'), /at byte 0; put it back from a copy/],
    ['accounts.json', 'is gone', remove('accounts.json'), /the file is missing at byte 0/],
    ['accounts.json', 'is empty', overwrite('accounts.json', ''), /it is no "connbook accounts" file/],
    [
      'keys.json',
      'is garbage',
      overwrite('keys.json'),
      /it is no "connbook keys" file at byte 0.+umask 077; echo/,
    ],
    ['keys.json', 'is gone', remove('keys.json'), /the file is missing at byte 0.+umask 077; echo/],
    ['revocations.jsonl', 'is garbage', overwrite('revocations.jsonl'), /not a journal header at byte 0/],
    ['revocations.jsonl', 'is gone', remove('revocations.jsonl'), /missing at byte 0/],
    ['snapshot.json', 'is garbage', overwrite('snapshot.json'), /not a connbook snapshot header at byte 0/],
    ['snapshot.json', 'is empty', overwrite('snapshot.json', ''), /the file is empty at byte 0/],
    ['snapshot.json', 'was cut', cut('snapshot.json'), /the file was cut at byte 0/],
    ['snapshot.json', 'has a flipped bit', flip('snapshot.json'), /at byte \d+; restore from a backup with/],
    ['journal.old.jsonl', 'is garbage', overwrite('journal.old.jsonl'), /not a journal header at byte 0/],
    [
      'journal.old.jsonl',
      'has a flipped bit',
      flip('journal.old.jsonl'),
      /at byte \d+; .+"connbook recover"/,
    ],
    ['journal.jsonl', 'is garbage', overwrite('journal.jsonl'), /not a journal header at byte 0/],
    ['journal.jsonl', 'has a flipped bit', flip('journal.jsonl'), /at byte \d+; .+"connbook recover"/],
  ]
  for (const [name, what, damage, words] of kinds) {
    it(`reports the place and the remedy when ${name} ${what}`, async (t) => {
      const folder = await writeFolder(t, compacting.image)
      await damage(folder)
      const { code, stdout, stderr } = await check(folder)
      assert.equal(code, 65, stdout)
      assert.equal(
        stderr,
        `connbook: The folder "${folder}" is not sound: ${name} damaged; standard output has the details\n`,
      )
      const found = said(stdout)[name] ?? ''
      assert.ok(found.startsWith(`DAMAGED: Cannot read "${join(folder, name)}": `), stdout)
      assert.match(found, words)
      assert.match(found, /connbook restore FILE/)
      assert.equal(stdout.match(/DAMAGED/g)?.length, 1)
      assert.doesNotMatch(stdout, /sound/)
    })
  }

  /** Adds an unknown member to each record of a journal, with valid checksums. */
  const addMember = async (path: string) => {
    const text = await readFile(path, 'utf8')
    let crc = 0
    const lines = text
      .trimEnd()
      .split('\n')
      .map((line) => {
        const [, , revision = ''] = line.split(' ', 3)
        const json = line.replace(/^\S+ \d+ \d+ /, '')
        const frame = encodeFrame(crc, Number(revision), json.replace('"port":', '"note":"x","port":'))
        crc = frame.crc
        return frame.bytes
      })
    await writeFile(path, Buffer.concat(lines))
  }

  const journalOf = (folder: string) => readFile(join(folder, dataFiles.journal), 'utf8')

  it('and every other reader of a folder refuse the records of a newer connbook, and change nothing', async (t) => {
    const folder = await copyOf(used, t)
    await addMember(join(folder, dataFiles.journal))
    const [before, journal] = [await photograph(folder), await journalOf(folder)]
    const said =
      /newer connbook: the member "note" of a record is unknown .* at byte \d+; use the connbook that wrote/
    const target = join(await temporaryFolder(t), 'backup.json')
    const commands = [['check'], ['backup', target], ['export', '--format', 'csv']]
    for (const command of commands) {
      const { code, stdout, stderr } = await runCommand([...command, '--data', folder])
      assert.equal(code, 65, stderr)
      assert.match(stdout + stderr, said)
      assert.doesNotMatch(stdout + stderr, /truncate|torn|DAMAGED|damaged/)
      assert.deepEqual(await photograph(folder), before)
    }
    await assert.rejects(
      start(t, { folder }),
      (error) => error instanceof DamagedFileError && said.test(error.message),
    )
    assert.deepEqual(await journalOf(folder), journal)
  })

  it('reports a gap between the journals', async (t) => {
    const folder = await writeFolder(t, compacting.image)
    await rm(join(folder, dataFiles.journalOld))
    const { code, stdout } = await check(folder)
    assert.equal(code, 65)
    assert.match(
      said(stdout)['journal.jsonl'] ?? '',
      /^DAMAGED: .+it begins after revision \d+, but what is before ends at/,
    )
    assert.equal(said(stdout)['snapshot.json'], 'by itself as it was written')
  })

  it('reports which file belongs to another store', async (t) => {
    const folder = await writeFolder(t, compacting.image)
    await cp(join(used.folder, dataFiles.journal), join(folder, dataFiles.journal))
    const { code, stdout } = await check(folder)
    assert.equal(code, 65)
    assert.match(
      said(stdout)['journal.jsonl'] ?? '',
      /^DAMAGED: .+it belongs to store .+; put back the file that belongs here$/,
    )
  })

  it('names all damaged files at once', async (t) => {
    const folder = await writeFolder(t, compacting.image)
    const names = [
      'accounts.json',
      'keys.json',
      'revocations.jsonl',
      'snapshot.json',
      'journal.old.jsonl',
      'journal.jsonl',
    ]
    for (const name of names) await overwrite(name)(folder)
    const { code, stdout, stderr } = await check(folder)
    assert.equal(code, 65)
    assert.equal(stdout.match(/DAMAGED/g)?.length, names.length)
    for (const name of names) {
      assert.ok(said(stdout)[name]?.startsWith('DAMAGED'), name)
      assert.ok(stderr.includes(name), name)
    }
  })

  it('names damaged keys and revocations even when the accounts are missing', async (t) => {
    const folder = await writeFolder(t, compacting.image)
    await rm(join(folder, dataFiles.accounts))
    for (const name of [dataFiles.keys, dataFiles.revocations]) await overwrite(name)(folder)
    const { stdout } = await check(folder)
    for (const name of [dataFiles.accounts, dataFiles.keys, dataFiles.revocations])
      assert.ok(said(stdout)[name]?.startsWith('DAMAGED'), `${name}: ${stdout}`)
  })

  const refused: [what: string, prepare: (folder: string) => Promise<unknown>, words: RegExp][] = [
    ['a folder that others can read', (folder) => chmod(folder, 0o750), /others can get at it.+chmod 700/],
    [
      'a file that others can read',
      (folder) => chmod(join(folder, dataFiles.accounts), 0o640),
      /accounts\.json": others can get at it.+chmod 600/,
    ],
    [
      'a folder in the place of a file',
      (folder) => mkdir(join(folder, dataFiles.snapshot)),
      /snapshot\.json": it is not a plain file/,
    ],
  ]
  for (const [what, prepare, words] of refused) {
    it(`refuses ${what}, with an explanation`, async (t) => {
      const folder = await copyOf(used, t)
      await prepare(folder)
      const { code, stdout, stderr } = await check(folder)
      assert.deepEqual([code, stdout], [1, ''])
      assert.match(stderr, words)
    })
  }

  it('reports that a folder holds no data, and creates none', async (t) => {
    const place = await temporaryFolder(t)
    await writeFile(join(place, 'file'), '')
    await mkdir(join(place, 'other'))
    await writeFile(join(place, 'other', 'notes.txt'), 'mine')
    const before = await photograph(place)
    for (const data of ['absent', 'file', 'other']) {
      const { code, stdout, stderr } = await runCommand(['check', '--data', join(place, data)])
      assert.deepEqual([code, stdout], [1, ''])
      assert.ok(
        stderr.startsWith(`connbook: Cannot find anything of connbook in "${join(place, data)}"`),
        stderr,
      )
    }
    assert.deepEqual(await photograph(place), before)
  })

  it('fails when standard output cannot be written', async () => {
    const { code, stderr } = await check(used.folder, 'ENOSPC')
    assert.equal(code, 1)
    assert.match(stderr, /^connbook: .*ENOSPC/)
  })

  for (const words of ['check a b', 'check --port 1', 'check --data']) {
    it(`refuses "${words}" as wrong usage`, async (t) => {
      const place = await temporaryFolder(t)
      const environment = { CONNBOOK_DATA: join(place, 'data') }
      const { code, stdout, stderr } = await runCommand(words.split(' '), { environment })
      assert.deepEqual(await readdir(place), [])
      assert.deepEqual([code, stdout], [2, ''])
      assert.match(stderr, /^connbook: .+\n$/)
    })
  }
})

describe('connbook check FILE', () => {
  const { backup } = used

  it('lists the content of a backup, and reports that it is sound', async () => {
    const before = await photograph(join(backup, '..'))
    const { code, stdout, stderr } = await runCommand(['check', backup])
    assert.deepEqual([code, stderr], [0, ''])
    const lines = stdout.split('\n')
    assert.equal(lines[0], backup)
    assert.match(lines[1] ?? '', /^ {2}7 records and 2 accounts as they were at 2.+Z; next id 10$/)
    assert.deepEqual(lines.slice(2), ['The backup is sound', ''])
    assert.deepEqual(await photograph(join(backup, '..')), before)
  })

  it('reports where a backup is damaged', async (t) => {
    const path = join(await temporaryFolder(t), 'backup.json')
    const text = await readFile(backup, 'utf8')
    await writeFile(path, text.replace('kept 5', 'kept 0'))
    const { code, stdout, stderr } = await runCommand(['check', path])
    assert.deepEqual([code, stdout], [65, ''])
    assert.match(
      stderr,
      /^connbook: Cannot read ".+": the checksum differs at byte \d+; use another backup\n$/,
    )
  })

  it('reads a backup from standard input, packed or not', async () => {
    const text = await readFile(used.backup)
    for (const input of [text, gzipSync(text)]) {
      const { code, stdout, stderr } = await runCommand(['check', '-'], { input })
      assert.deepEqual([code, stderr], [0, ''])
      assert.match(stdout, /^standard input\n.*\nThe backup is sound\n$/)
    }
  })

  it('refuses a data folder, a file from one and a missing file', async (t) => {
    const root = await temporaryFolder(t)
    const sources: [path: string, code: number, words: RegExp][] = [
      [used.folder, 2, /it is not a plain file; a folder is named with --data/],
      [join(used.folder, dataFiles.journal), 65, /not a connbook backup header/],
      [join(root, 'absent'), 1, /absent" \(ENOENT\); name a file/],
    ]
    for (const [path, code, words] of sources) {
      const finished = await runCommand(['check', path])
      assert.equal(finished.code, code, path)
      assert.match(finished.stderr, words)
    }
  })
})
