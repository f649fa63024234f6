import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { importCall } from '../../src/commands/import-call.ts'

const order = { source: 'hosts.csv', format: 'csv', mode: 'replace', isTrial: false } as const
const HEADERS = "-H 'Authorization: Bearer TOKEN' -H 'Content-Type:'"

describe('the line that sends an import to a server', () => {
  it('has the file, the mode and the real address', () => {
    assert.equal(
      importCall(order, { url: 'http://localhost:8321/x', socket: undefined }),
      `curl -sS ${HEADERS} --data-binary '@hosts.csv' 'http://localhost:8321/x/v1/import?format=csv&mode=replace'`,
    )
    assert.match(importCall(order), / 'http:\/\/localhost:8080\/v1\/import\?/)
  })

  it('only tries when that was asked for', () =>
    assert.match(importCall({ ...order, isTrial: true }), /mode=replace&dry_run=1'$/))

  it('unpacks gzip first, and reads standard input', () => {
    assert.match(
      importCall({ ...order, source: 'my hosts.csv.gz' }),
      /^gunzip -c 'my hosts\.csv\.gz' \| curl .* --data-binary '@-' /,
    )
    assert.match(importCall({ ...order, source: '-' }), /^curl .* --data-binary '@-' /)
  })

  it('goes through a Unix socket, or over HTTPS', () => {
    const socket = '/run/connbook/http'
    assert.match(
      importCall(order, { url: 'http://localhost', socket }),
      /--unix-socket '\/run\/connbook\/http' /,
    )
    assert.match(importCall(order, { url: 'https://localhost:8443', socket: undefined }), /^curl -sS -k /)
  })
})
