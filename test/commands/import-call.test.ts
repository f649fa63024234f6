import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { importCall, importSshCalls, isGzip } from '../../src/commands/import-call.ts'
import { noImportOptions } from '../../src/exchange/import-options.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const order = {
  source: 'hosts.csv',
  format: 'csv',
  mode: 'replace',
  isTrial: false,
  options: noImportOptions,
} as const
const HEADERS = "-H 'Authorization: Bearer TOKEN' -H 'Content-Type:'"

describe('the lines that send a real SSH configuration to a server', () => {
  it('make its records in a new folder first, with the options that a server does not take', () => {
    const real = {
      ...order,
      source: 'my config',
      format: 'ssh-config',
      username: "o'neil",
      isSkipping: true,
    } as const
    assert.deepEqual(importSshCalls(real, { url: 'http://localhost:8321', socket: undefined }), [
      `connbook import --format ssh-config --user 'o'\\''neil' --skip --data new-folder 'my config'`,
      'connbook export --format json --data new-folder --output records.json',
      `curl -sS ${HEADERS} --data-binary '@records.json' 'http://localhost:8321/v1/import?format=json&mode=replace'`,
    ])
  })
})

describe('the line that sends an import to a server', () => {
  it('has the file, the mode and the real address', () => {
    assert.equal(
      importCall(order, { url: 'http://localhost:8321/x', socket: undefined }, false),
      `curl -sS ${HEADERS} --data-binary '@hosts.csv' 'http://localhost:8321/x/v1/import?format=csv&mode=replace'`,
    )
    assert.match(importCall(order, undefined, false), / 'http:\/\/localhost:8080\/v1\/import\?/)
  })

  it('has what was said of the columns', () => {
    const options = {
      ...noImportOptions,
      separator: ';',
      extra: 'labels',
      map: [['hostname', 'Host Name']],
      only: [['Kind', 'SSH']],
      defaults: [['port', '22']],
    } as const
    assert.match(
      importCall({ ...order, options }, undefined, false),
      /mode=replace&separator=%3B&extra=labels&map=hostname%3AHost%20Name&only=Kind%3ASSH&default=port%3A22'$/,
    )
  })

  it('only tries when that was asked for', () =>
    assert.match(importCall({ ...order, isTrial: true }, undefined, false), /mode=replace&dry_run=1'$/))

  it('unpacks gzip first, and reads standard input and streams', () => {
    assert.match(
      importCall({ ...order, source: 'my hosts.csv' }, undefined, true),
      /^gunzip -c < 'my hosts\.csv' \| curl .* --data-binary '@-' /,
    )
    for (const source of ['-', '/dev/stdin', '/dev/fd/63', '/proc/self/fd/4'])
      assert.match(importCall({ ...order, source }, undefined, false), /^curl .* --data-binary '@-' /)
    const source = '/dev/shm/a.csv'
    assert.match(importCall({ ...order, source }, undefined, false), / --data-binary '@\/dev\/shm\/a\.csv' /)
  })

  it('recognizes gzip by its content, and reads only plain files', async (t) => {
    const folder = await temporaryFolder(t)
    const [packed, plain] = [join(folder, 'hosts.csv'), join(folder, 'hosts.csv.gz')]
    await writeFile(packed, gzipSync('name'))
    await writeFile(plain, 'name')
    const found = await Promise.all([packed, plain, folder, '-', join(folder, 'missing')].map(isGzip))
    assert.deepEqual(found, [true, false, false, false, false])
  })

  it('goes through a Unix socket, or over HTTPS', () => {
    const socket = '/run/connbook/http'
    assert.match(
      importCall(order, { url: 'http://localhost', socket }, false),
      /--unix-socket '\/run\/connbook\/http' /,
    )
    assert.match(
      importCall(order, { url: 'https://localhost:8443', socket: undefined }, false),
      /^curl -sS -k /,
    )
  })
})
