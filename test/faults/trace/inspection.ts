import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { auditFiles } from '../../../src/files/data-folder.ts'
import { isObject, parseJson } from '../../../src/json.ts'
import { parseListTag } from '../../../src/store/list-tag.ts'
import { getToken, logIn } from '../../support/api.ts'
import { startExecutable } from '../../support/executable.ts'
import { createClient, recordsIn } from '../../support/http-client.ts'
import { start } from '../../support/service.ts'
import { draft } from '../../support/store.ts'
import type { Found } from './oracle.ts'
import { describeOthers, isWriters } from './recorded-writer.ts'
import type { CredentialStep } from './recording.ts'

/** The text around the records of a list. */
const LIST_START = '{"configurations":['
const LIST_END = ']}'

/** A server on a data folder, wherever it runs. */
interface Started {
  readonly url: string
  readonly isFirstStart: boolean
  stop(): Promise<unknown>
}

export type Starter = (t: TestContext, data: string) => Promise<Started>

export const startInProcess: Starter = async (t, folder) => {
  const service = await start(t, { folder, environment: {} })
  return { url: service.url, isFirstStart: service.madeUp !== undefined, stop: service.stop }
}

export const startAsExecutable: Starter = async (t, data) => {
  const server = await startExecutable(t, ['--data', data])
  const isFirstStart = server.stderr().includes('"event":"first_start"')
  return { url: server.url, isFirstStart, stop: () => server.stop() }
}

/**
 * Starts twice on a data folder and returns what is there; checks itself what must hold in any case.
 *
 * @param checksLogin Whether to try the password too, which is slow.
 */
export async function inspect(
  t: TestContext,
  data: string,
  steps: readonly CredentialStep[],
  { starter, checksLogin }: { readonly starter: Starter; readonly checksLogin: boolean },
): Promise<Found> {
  const first = await starter(t, data)
  let found: Found
  let expected: string
  let bearer: { Authorization: string }
  try {
    const credentials: unknown = JSON.parse(await readFile(join(data, 'initial-credentials.json'), 'utf8'))
    bearer = await getToken(first.url, credentials)
    const ask = createClient(first.url, bearer)
    const list = await ask('GET', '/configurations/')
    const records = recordsIn(list)
    assert.equal((await ask('GET', '/readyz')).status, 200)
    if (checksLogin) await assertGood(first.url, await logIn(first.url, credentials))
    const areGood = await askWithAll(first.url, steps)
    const added = await ask('POST', '/configurations/', { body: draft('after the crash') })
    const [record] = recordsIn(added)
    assert.ok(record !== undefined && record.id > (records.at(-1)?.id ?? 0))
    // As text, because it may be megabytes.
    const recordText = added.text.slice(LIST_START.length, -LIST_END.length)
    expected = list.text.slice(0, -LIST_END.length) + (records.length > 0 ? ',' : '') + recordText + LIST_END
    found = {
      isFirstStart: first.isFirstStart,
      credentials,
      records: records.filter(isWriters),
      others: describeOthers(records),
      nextId: record.id,
      areGood,
    }
  } finally {
    await first.stop()
  }

  const second = await starter(t, data)
  try {
    assert.equal(second.isFirstStart, false)
    const ask = createClient(second.url, bearer)
    const again = await ask('GET', '/configurations/')
    assert.ok(again.text === expected, 'a second start found something else')
    await assertEachListedOnce(data, again.headers.etag)
    assert.deepEqual(
      await askWithAll(second.url, steps),
      found.areGood,
      'a second start found something else',
    )
  } finally {
    await second.stop()
  }
  return found
}

/**
 * Checks that the audit trail has one line for each change from the first that it lists up to the last.
 *
 * @param etag Of the list.
 */
async function assertEachListedOnce(data: string, etag = '') {
  const now = parseListTag(etag.slice(1, -1)) ?? assert.fail(`the list has the tag ${etag}`)
  const revisions: number[] = []
  for (const line of (await readFile(join(data, auditFiles[0]), 'utf8')).split('\n')) {
    // Torn lines stay where they are.
    const members = parseJson(line)
    if (!isObject(members) || !String(members.event).startsWith('configuration_')) continue
    const listed = parseListTag(members.tag)
    if (listed?.store === now.store) revisions.push(listed.revision)
  }
  // A line that the power failure took is written again behind others.
  revisions.sort((a, b) => a - b)
  const [first = now.revision] = revisions
  const all = Array.from({ length: now.revision - first + 1 }, (_, i) => first + i)
  assert.deepEqual(revisions, all, 'the audit trail has another line for each change')
}

function askWithAll(url: string, steps: readonly CredentialStep[]) {
  return Promise.all(
    steps.map(async ({ issued }) => {
      if (issued === undefined) return undefined
      const { status } = await createClient(url, issued)('GET', '/configurations/absent')
      assert.ok([403, 404].includes(status), `status ${status}`)
      return status === 404
    }),
  )
}

async function assertGood(url: string, headers: { Cookie: string }) {
  assert.equal((await createClient(url, headers)('GET', '/configurations/absent')).status, 404)
}
