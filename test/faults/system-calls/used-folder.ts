import assert from 'node:assert/strict'
import { appendFile, cp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { auditFiles, dataFiles } from '../../../src/files/data-folder.ts'
import { encodeJournalStart } from '../../../src/journal/journal-file.ts'
import { USERNAME_CHARACTERS_MAX } from '../../../src/limits.ts'
import { SNAPSHOT_JOURNAL_BYTES_MIN } from '../../../src/storage/file/file-storage.ts'
import { CHANGE_VERSION } from '../../../src/store/change.ts'
import { Configuration } from '../../../src/store/configuration.ts'
import { getToken, logIn } from '../../support/api.ts'
import { createClient, type Headers } from '../../support/http-client.ts'
import { start } from '../../support/service.ts'
import { makeInitialFolder } from '../../support/started-folder.ts'
import { draft } from '../../support/store.ts'
import { type Lifetime, temporaryFolder } from '../../support/temporary-folder.ts'

/** The credentials that a first start generates. */
export interface Credentials {
  readonly username: string
  readonly password: string
  readonly client_id: string
  readonly client_secret: string
}

/** A stopped data folder after its first start, with credentials that are valid in every copy of it. */
export interface UsedFolder {
  readonly path: string
  readonly credentials: Credentials
  readonly bearer: Headers
  readonly cookie: Headers
}

/** Records of no writer; their names sort behind those of every `Writer`. */
const FILLERS = 2_100
/** Takes four bytes, so that long records are not longer than they may be. */
const FILLER = '\u{1f5c4}'
const FILLER_BYTES = 4
const LONG = FILLER.repeat(USERNAME_CHARACTERS_MAX - 10)
/** How far the journal is below the size that starts a snapshot: a few changes reach it. */
const ROOM_BYTES = 300

export async function readCredentials(data: string): Promise<Credentials> {
  return JSON.parse(await readFile(join(data, dataFiles.initialCredentials), 'utf8'))
}

/** Makes such a folder with the service itself; it holds two records, `z0` and `z1`. */
export async function useFolder(t: Lifetime): Promise<UsedFolder> {
  const path = join(await temporaryFolder(t), 'data')
  await makeInitialFolder(t, path)
  const service = await start(t, { folder: path, environment: {} })
  const credentials = await readCredentials(path)
  const bearer = await getToken(service.url, credentials)
  const cookie = await logIn(service.url, credentials)
  const ask = createClient(service.url, bearer)
  for (const name of ['z0', 'z1']) {
    assert.equal((await ask('POST', '/configurations/', { body: draft(name) })).status, 200)
  }
  await service.stop()
  return { path, credentials, bearer, cookie }
}

/** A copy whose journal is so large that a few more changes start a snapshot. */
export async function growJournal(t: Lifetime, used: UsedFolder): Promise<UsedFolder & { records: number }> {
  const grown = await copyOf(t, used)
  const path = join(grown.path, dataFiles.journal)
  // Sessions belong to a store.
  const [, store = assert.fail('the journal has no store')] =
    /"store":"([^"]+)"/.exec(await readFile(path, 'utf8')) ?? []
  const encode = (charactersOf: (i: number) => number) => {
    const changes = Array.from({ length: FILLERS }, (_, i) => {
      const fields = { username: FILLER.repeat(charactersOf(i)) }
      return { add: new Configuration(i + 1, draft(`z${i} ${LONG}`, fields)) }
    })
    return encodeJournalStart({ store, after: 0, version: CHANGE_VERSION }, changes).bytes
  }
  const missing = SNAPSHOT_JOURNAL_BYTES_MIN - ROOM_BYTES - encode(() => 1).length
  const more = Math.floor(missing / FILLER_BYTES)
  const each = 1 + Math.floor(more / FILLERS)
  assert.ok(each > 1 && each < USERNAME_CHARACTERS_MAX)
  const journal = encode((i) => (i < more % FILLERS ? each + 1 : each))
  await writeFile(path, journal)
  return { ...grown, records: FILLERS }
}

/** A copy in which both journals end with half a line. */
export async function tearJournals(t: Lifetime, used: UsedFolder, half: string): Promise<UsedFolder> {
  const torn = await copyOf(t, used)
  for (const name of [dataFiles.journal, dataFiles.revocations]) await appendFile(join(torn.path, name), half)
  return torn
}

/** Runs an action on a copy of the folder, then removes the copy; if the action fails, it stays until the test ends. */
export async function withCopy<T>(
  t: Lifetime,
  used: UsedFolder,
  action: (data: string) => Promise<T>,
): Promise<T> {
  const { path } = await copyOf(t, used)
  const result = await action(path)
  await rm(path, { recursive: true })
  return result
}

async function copyOf(t: Lifetime, used: UsedFolder): Promise<UsedFolder> {
  const path = join(await temporaryFolder(t), 'data')
  await cp(used.path, path, { recursive: true })
  return { ...used, path }
}

/** Checks that a stopped folder holds its files, and otherwise only files whose names match. */
export async function checkEntries(data: string, besides: RegExp): Promise<void> {
  const always: readonly string[] = [
    dataFiles.accounts,
    dataFiles.initialCredentials,
    dataFiles.journal,
    dataFiles.keys,
    dataFiles.lock,
    dataFiles.revocations,
  ]
  const entries = await readdir(data)
  assert.deepEqual(
    always.filter((name) => !entries.includes(name)),
    [],
    'these are missing',
  )
  const [audit] = auditFiles
  const others = entries.filter((name) => name !== audit && !always.includes(name))
  assert.deepEqual(
    others.filter((name) => !besides.test(name)),
    [],
    'these do not belong there',
  )
}

/** For `checkEntries`: no other file. */
export const nothing = /^(?!)/
