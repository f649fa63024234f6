import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { getToken } from '../support/api.ts'
import { runExecutable } from '../support/executable.ts'
import { createClient } from '../support/http-client.ts'
import { noNamespaces } from '../support/namespace.ts'
import { client, start } from '../support/service.ts'
import { draft } from '../support/store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

describe('connbook export', { timeout: 60_000 }, () => {
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
