import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmod, mkdir, readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import { getToken } from '../support/api.ts'
import { runCommand } from '../support/command.ts'
import { runExecutable } from '../support/executable.ts'
import { createClient } from '../support/http-client.ts'
import { noNamespaces } from '../support/namespace.ts'
import { asPlainAccount, giveToPlainAccount } from '../support/plain-account.ts'
import { client, start } from '../support/service.ts'
import { draft } from '../support/store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { makeUsedFolder } from './kept-state.ts'

describe('connbook export', () => {
  it('writes with --output to a pipe', async (t) => {
    const { folder, current } = await makeUsedFolder(t)
    const place = await temporaryFolder(t)
    const pipe = join(place, 'pipe')
    execFileSync('mkfifo', [pipe])
    const args = ['export', '--format', 'jsonl', '--data', folder]
    const [{ code }, text] = await Promise.all([
      runCommand([...args, '--output', pipe]),
      readFile(pipe, 'utf8'),
    ])
    assert.deepEqual([code, text], [0, (await runCommand(args)).stdout])
    assert.equal(text.trimEnd().split('\n').length, current.records.length)
    assert.deepEqual(await readdir(place), ['pipe'])
  })

  it('names the file, not the data folder, when this account cannot write it', async (t) => {
    const { folder } = await makeUsedFolder(t)
    await giveToPlainAccount(folder)
    const place = await temporaryFolder(t)
    const [locked, output] = [join(place, 'locked'), join(place, 'locked', 'x.json')]
    for (const passed of [place, dirname(folder)]) await chmod(passed, 0o755)
    await mkdir(locked, { mode: 0o000 })
    const args = ['export', '--format', 'json', '--output', output, '--data', folder]
    const { code, stderr } = await runExecutable(args, { through: asPlainAccount })
    assert.deepEqual(
      [code, stderr],
      [
        1,
        `connbook: Cannot write the export to "${output}" (EACCES); what was there before is untouched; name a folder that this account can write\n`,
      ],
    )
  })

  it('fails when the disk is full before the file is complete', { skip: noNamespaces }, async (t) => {
    const service = await start(t)
    const ask = createClient(service.url, await getToken(service.url, client))
    for (let i = 0; i < 40; i++) {
      const body = draft(String(i).padStart(250, 'x'))
      assert.equal((await ask('POST', '/configurations/', { body })).status, 200)
    }
    await service.stop()
    const script = 'mount -t tmpfs -o size=4k none "$0" && exec "$@" > "$0/export.csv"'
    const place = await temporaryFolder(t)
    const through = ['unshare', '--map-root-user', '--mount', '/bin/sh', '-c', script, place]
    const { code, stderr } = await runExecutable(
      ['export', '--format', 'csv', '--data', service.folder.path],
      { through },
    )
    assert.equal(code, 1)
    assert.match(
      stderr,
      /^connbook: Cannot write the export to standard output \(ENOSPC\); .* not complete$/m,
    )
  })
})
