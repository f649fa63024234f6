import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { crc32 } from 'node:zlib'
import { IMPORT_AUDITED_RECORDS_MAX } from '../../src/limits.ts'
import { trailIn } from '../audit/trail.ts'
import { pathOf } from '../support/api.ts'
import { runCommand } from '../support/command.ts'
import { start, usedFolder } from '../support/service.ts'
import { draft } from '../support/store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

interface Told {
  readonly history: readonly { readonly event: string; readonly time: string }[]
  readonly since: string
}

async function run(...args: readonly string[]) {
  const finished = await runCommand(args)
  assert.equal(finished.code, 0, finished.stderr)
  return finished.stdout
}

/** Starts a server on a folder, does something there, and stops it. @returns The histories of all and of "a" at the end. */
async function visit(
  t: TestContext,
  folder: string,
  change: (
    call: (method: string, path: string, body?: unknown, reason?: string) => Promise<Response>,
  ) => Promise<void> = async () => {},
) {
  const service = await start(t, { folder, environment: {} })
  const headers = { Authorization: await service.bearer() }
  const call = (method: string, path: string, body?: unknown, reason?: string) =>
    service.call(path, {
      method,
      headers: { ...headers, ...(reason === undefined ? {} : { 'X-Reason': reason }) },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
  await change(call)
  const read = async (path: string) => (await (await call('GET', path)).json()) as Told
  const told = { all: await read('/v1/history'), one: await read('/v1/history/a') }
  await service.stop()
  return told
}

/** A folder with a history of four entries, of which one only counts. */
async function makeFolder(t: TestContext) {
  const folder = await usedFolder(t)
  const told = await visit(t, folder, async (call) => {
    await call('POST', '/configurations/', draft('a'), 'first')
    await call('PATCH', pathOf('a'), { port: 23, labels: { env: 'prod' } })
    const rows = Array.from({ length: IMPORT_AUDITED_RECORDS_MAX + 1 }, (_, i) =>
      JSON.stringify(draft(`n${i}`)),
    )
    await call('POST', '/v1/import?format=jsonl', rows.join('\n'))
    await call('DELETE', pathOf('n0'))
  })
  assert.equal(told.all.history.length, 4)
  return { folder, told }
}

describe('a backup with a history', () => {
  it('takes along the history, which goes on after a restore', async (t) => {
    const { folder, told } = await makeFolder(t)
    const backup = join(await temporaryFolder(t), 'backup.json')
    assert.match(
      await run('backup', backup, '--with-history', '--data', folder),
      /, with a history of 4 changes of /,
    )
    assert.match(await run('check', backup), /, with a history of 4 changes as they were at /)
    const text = await readFile(backup, 'utf8')
    assert.doesNotMatch(text, /"address"|request_id|"tag"|logged_in|token_issued/)
    assert.match(text, /^\{"format":"connbook backup","version":4,/)
    JSON.parse(text)

    const restored = join(await temporaryFolder(t), 'data')
    const before = await trailIn(folder)
    assert.match(
      await run('restore', backup, '--data', restored),
      /\nThe history goes on from that of the backup\n$/,
    )
    assert.deepEqual(await trailIn(folder), before)
    const after = await visit(t, restored)
    assert.deepEqual([after.all.history, after.one], [told.all.history, told.one])
    assert.equal(after.all.since, told.all.history.at(-1)?.time)
    assert.equal(
      (await trailIn(restored)).filter(({ event }) => String(event).startsWith('configuration')).length,
      0,
    )
    const later = await visit(t, restored, async (call) => {
      await call('PATCH', pathOf('a'), { port: 24 })
    })
    assert.deepEqual(later.all.history.slice(1), told.all.history)
    assert.deepEqual([later.one.history.length, later.one.since], [3, told.one.since])

    // Once more, from the restored folder to itself; without a history, it begins anew.
    await run('backup', backup, '--with-history', '--data', restored)
    await run('restore', backup, '--data', restored)
    assert.deepEqual((await visit(t, restored)).all.history, later.all.history)
    await run('backup', backup, '--data', restored)
    assert.match(await run('check', backup), /accounts as they were/)
    assert.match(await run('restore', backup, '--data', restored), /\nThe history begins anew: /)
    const anew = await visit(t, restored)
    assert.deepEqual([anew.all.history, anew.one.history], [[], []])
  })

  it('is refused when it is damaged, cut, or newer still', async (t) => {
    const { folder } = await makeFolder(t)
    const backup = join(await temporaryFolder(t), 'backup.json')
    await run('backup', backup, '--with-history', '--data', folder)
    const text = await readFile(backup, 'utf8')
    const reseal = (body: string) => `${body}],"checksum":"${crc32(body).toString(16).padStart(8, '0')}"}\n`
    const body = text.slice(0, text.lastIndexOf('],"checksum"'))
    for (const broken of [
      text.replace('"first"', '"other"'),
      text.slice(0, text.indexOf('"first"')),
      reseal(body.replace('"version":4', '"version":5')),
    ]) {
      await writeFile(backup, broken)
      const { code, stderr } = await runCommand(['check', backup])
      assert.equal(code, 65, stderr)
    }
    await writeFile(backup, reseal(body))
    await run('check', backup)
  })

  it('is not for a cluster', async () => {
    const { code, stderr } = await runCommand([
      'backup',
      'x.json',
      '--with-history',
      '--etcd',
      'http://127.0.0.1:1',
    ])
    assert.equal(code, 2)
    assert.match(stderr, /--with-history is for a data folder/)
  })
})
