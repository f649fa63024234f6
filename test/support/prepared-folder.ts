import assert from 'node:assert/strict'
import { readFile, stat } from 'node:fs/promises'
import { Agent } from 'node:http'
import { join } from 'node:path'
import { type AuditTrail, openAuditTrail } from '../../src/audit/audit-trail.ts'
import { addAccount } from '../../src/auth/accounts.ts'
import { accountsDocument } from '../../src/auth/accounts-file.ts'
import { digestSecret, generateSecret } from '../../src/auth/secret.ts'
import { auditFiles, dataFiles, dataPaths } from '../../src/files/data-folder.ts'
import type { FileSystem } from '../../src/files/file-system.ts'
import { openDataFolder } from '../../src/files/owned-folder.ts'
import { isObject } from '../../src/json.ts'
import { openConfigurationStore } from '../../src/storage/file/file-storage.ts'
import type { ConfigurationStore } from '../../src/store/configuration-store.ts'
import { getToken, logIn, pathOf } from './api.ts'
import { eventually } from './eventually.ts'
import { createFailingFiles, holdUp } from './failing-files.ts'
import { type FolderImage, fileIn, readImage } from './folder-image.ts'
import { type Ask, createClient, type Headers, recordsIn, type ShownRecord } from './http-client.ts'
import { createMemoryLog } from './memory-log.ts'
import { start, type TestService } from './service.ts'
import { makeInitialFolder } from './started-folder.ts'
import { draft, someone } from './store.ts'
import { type Lifetime, temporaryFolder } from './temporary-folder.ts'

/** The content of a data folder as it shows from outside. */
export interface State {
  readonly records: readonly ShownRecord[]
  /** The id that the next record gets. */
  readonly nextId: number
  /** Which of `PreparedFolder.credentials` are valid. */
  readonly areGood: readonly boolean[]
  /** Content of the accounts file, whatever its layout. */
  readonly accounts: unknown
}

/** A data folder as the service has left it, and the state that it holds. */
export interface PreparedFolder {
  readonly image: FolderImage
  readonly state: State
  /** Headers of sessions and tokens, live ones and ended ones. */
  readonly credentials: readonly Headers[]
  /** What `journal.jsonl` held at each of its lengths, from the shortest on. */
  readonly steps: readonly Step[]
  /** Earlier states of the same folder, from the first on. */
  readonly earlier: readonly FolderImage[]
}

/** The records in a journal file of so many bytes. */
export interface Step {
  readonly bytes: number
  readonly records: readonly ShownRecord[]
  readonly nextId: number
}

export interface PreparedFolders {
  /** With a snapshot, a journal behind it and no other. */
  readonly compacted: PreparedFolder
  /** Caught while the second snapshot was being written: with two journals and the snapshot before. */
  readonly compacting: PreparedFolder
}

/** A record with labels, if `i` is even. */
function labelled(name: string, i: number) {
  return draft(name, i % 2 === 0 ? { labels: { constructor: `${i}`, id: '99' } } : {})
}

/** Makes a folder with the service itself: three runs, compactions between them, logouts, a new client. */
export async function prepareFolders(t: Lifetime): Promise<PreparedFolders> {
  const folder = join(await temporaryFolder(t), 'data')
  await makeInitialFolder(t, folder)
  const earlier: FolderImage[] = []
  const history = new History(folder)

  const first = await start(t, { folder, environment: {} })
  const given: unknown = JSON.parse(await readFile(join(folder, dataFiles.initialCredentials), 'utf8'))
  const newCredentials = () => Promise.all([logIn(first.url, given), getToken(first.url, given)])
  const [live, endedFirst, endedSecond, endedThird] = [
    await newCredentials(),
    await newCredentials(),
    await newCredentials(),
    await newCredentials(),
  ]
  const credentials = [live, endedFirst, endedSecond, endedThird].flat()
  const logOut = async (service: TestService, all: Headers[]) => {
    for (const headers of all) {
      const { status } = await createClient(service.url, headers)('POST', '/logout')
      assert.equal(status, 200)
    }
  }
  const run = async (service: TestService, ended: Headers[], change: (ask: Ask) => Promise<void>) => {
    const revocations = join(folder, dataFiles.revocations)
    await eventually('revocations are rewritten', async () =>
      (await readFile(revocations, 'utf8')).includes('passed'),
    )
    const ask = createClient(service.url, live[0])
    const take = async () => history.take(recordsIn(await ask('GET', '/configurations/')))
    await take()
    await logOut(service, ended)
    await change(async (...args) => {
      const answer = await ask(...args)
      assert.ok([200, 209].includes(answer.status), answer.text)
      await take()
      return answer
    })
    await service.stop()
    earlier.push(await readImage(folder))
  }

  await run(first, endedFirst, async (ask) => {
    for (let i = 0; i < 8; i += 1) await ask('POST', '/configurations/', { body: labelled(`first ${i}`, i) })
    await ask('PATCH', pathOf('first 1'), { body: { name: 'renamed' } })
    await ask('DELETE', pathOf('first 2'))
  })
  await compact(folder, async (store) => {
    history.begin()
    await history.take(recordsOf(store))
    await Promise.all([store.add(someone, draft('at once 0')), store.add(someone, draft('at once 1'))])
    await history.take(recordsOf(store))
  })
  earlier.push(await readImage(folder))

  await addClient(folder)
  await run(await start(t, { folder, environment: {} }), endedSecond, async (ask) => {
    await ask('POST', '/configurations/', { body: draft('second 0') })
    for (let port = 1; port <= 9; port += 1) await ask('PATCH', pathOf('first 3'), { body: { port } })
    await ask('DELETE', pathOf('second 0'))
  })

  const files = createFailingFiles()
  const snapshot = holdUp(files, 'write', dataFiles.snapshot)
  const accounts = await accountsIn(folder)
  const caught = Promise.withResolvers<PreparedFolder>()
  await compact(
    folder,
    async (store, trail) => {
      await snapshot.begun
      const take = () => history.take(recordsOf(store))
      history.begin()
      await take()
      for (let i = 0; i < 5; i += 1) {
        await store.add(someone, labelled(`meanwhile ${i}`, i))
        await take()
      }
      await store.remove(someone, 'first 4')
      await take()
      await trail.sync()
      caught.resolve({
        image: withoutTemporaryFiles(await readImage(folder)),
        state: { ...stateAt(history.last), areGood: goodBut(credentials, 6), accounts },
        credentials,
        steps: [...history.steps],
        earlier: [...earlier],
      })
      snapshot.release()
    },
    files,
  )
  earlier.push(await readImage(folder))

  await run(await start(t, { folder, environment: {} }), endedThird, async (ask) => {
    for (let i = 0; i < 6; i += 1) await ask('POST', '/configurations/', { body: labelled(`third ${i}`, i) })
    await ask('PATCH', pathOf('third 1'), { body: { hostname: 'other.example' } })
    await ask('DELETE', pathOf('third 2'))
    await ask('POST', '/configurations/', { body: draft('last') })
  })
  const compacting = await caught.promise
  const compacted: PreparedFolder = {
    image: earlier.at(-1) ?? assert.fail('just taken'),
    state: { ...stateAt(history.last), areGood: goodBut(credentials, 8), accounts },
    credentials,
    steps: history.steps,
    earlier: earlier.slice(0, -1),
  }
  for (const name of [dataFiles.snapshot, dataFiles.journal]) fileIn(compacted.image, name)
  for (const name of [dataFiles.snapshot, dataFiles.journal, dataFiles.journalOld])
    fileIn(compacting.image, name)
  return { compacted, compacting }
}

/**
 * Reads the whole `State` from a running service; adds a record to see its id. Without a valid credential no records
 * can be seen.
 */
export async function stateOf(service: TestService, { credentials }: PreparedFolder): Promise<State> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  try {
    const clients = credentials.map((headers) => createClient(service.url, headers, { agent }))
    const answers = await Promise.all(clients.map((ask) => ask('GET', '/configurations/')))
    const areGood = answers.map(({ status }) => status === 200)
    const accounts = await accountsIn(service.folder.path)
    const good = areGood.indexOf(true)
    const [ask, answer] = [clients[good], answers[good]]
    if (ask === undefined || answer === undefined) return { records: [], nextId: 0, areGood, accounts }
    const records = recordsIn(answer)
    const added = recordsIn(await ask('POST', '/configurations/', { body: draft('to see the next id') }))
    return { records, nextId: added[0]?.id ?? 0, areGood, accounts }
  } finally {
    agent.destroy()
  }
}

/** What a state says of the records at one step. */
export function stateAt({ records, nextId }: Step): Pick<State, 'records' | 'nextId'> {
  return { records, nextId }
}

/** Notes after each change what the journal stands for at its length. */
class History {
  readonly #folder: string
  #steps: Step[] = []
  #highestId = 0

  constructor(folder: string) {
    this.#folder = folder
  }

  get steps(): readonly Step[] {
    return this.#steps
  }

  get last(): Step {
    return this.#steps.at(-1) ?? assert.fail('no step was taken')
  }

  /** Begins anew with another journal. */
  begin(): void {
    this.#steps = []
  }

  async take(records: readonly ShownRecord[]): Promise<void> {
    this.#highestId = Math.max(this.#highestId, ...records.map(({ id }) => id))
    const { size: bytes } = await stat(join(this.#folder, dataFiles.journal))
    this.#steps.push({ bytes, records, nextId: this.#highestId + 1 })
  }
}

/** The image as a crash leaves it before the audit trail has the line of the last change. */
export function withoutTrail(image: FolderImage): FolderImage {
  return new Map([...image].filter(([name]) => name !== auditFiles[0]))
}

/** Leftovers of a killed process are not part of the state of the folder. */
function withoutTemporaryFiles(image: FolderImage): FolderImage {
  return new Map([...image].filter(([name]) => !name.endsWith('.tmp')))
}

/** Opens the store alone, so that it makes a snapshot however short the journal is. */
async function compact(
  folder: string,
  meanwhile: (store: ConfigurationStore, trail: AuditTrail) => Promise<void>,
  files: FileSystem = createFailingFiles(),
): Promise<void> {
  const opened = await openDataFolder(folder)
  const log = createMemoryLog()
  const trail = await openAuditTrail(opened, log)
  const store = await openConfigurationStore(
    { ...opened, files },
    { mustExist: true, log, trail, snapshotBytesMin: 1 },
  )
  await meanwhile(store, trail)
  await store.close()
  await trail.close()
  opened.release()
  assert.ok(log.events.includes('snapshot_written'), 'no snapshot was due')
}

async function addClient(folder: string): Promise<void> {
  const document = accountsDocument(dataPaths(folder))
  const accounts = (await document.read()) ?? assert.fail('no accounts')
  await document.write(addAccount(accounts, 'client', 'second', digestSecret(generateSecret())))
}

async function accountsIn(folder: string): Promise<unknown> {
  const file: unknown = JSON.parse(await readFile(join(folder, dataFiles.accounts), 'utf8'))
  return isObject(file) ? file.content : assert.fail('no accounts')
}

function recordsOf(store: ConfigurationStore): ShownRecord[] {
  return store.list(0, store.count).map(({ json }) => JSON.parse(json) as ShownRecord)
}

/** Which of the credentials are valid if those from 2 up to `end` have ended. */
function goodBut(credentials: readonly Headers[], end: number): boolean[] {
  return credentials.map((_, i) => i < 2 || i >= end)
}
