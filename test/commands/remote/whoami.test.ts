import '../../support/node-version.ts'
import '../../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { systemAccount } from '../../../src/system-account.ts'
import { openHome, openServer } from './client-home.ts'
import { serveJson } from './other-server.ts'

describe('connbook whoami', { timeout: 60_000 }, () => {
  it('shows server, account, what it may do, and until when', async (t) => {
    const { run, see, service } = await openServer(t)
    const { code, stdout, stderr } = await run(['whoami'])
    assert.deepEqual([code, stderr], [0, ''])
    assert.match(
      stdout.replace(service.url, 'URL'),
      /^server\tURL\naccount\tscript\nkind\tclient\nscope\tread write\nexpires_at\t\S+\n$/,
    )
    assert.match((await see(['whoami'])).stdout, /^server {6}http:.*\naccount {5}script\n/)
    const { server, account } = JSON.parse((await run(['whoami', '--json'])).stdout)
    assert.deepEqual([server, account], [service.url, 'script'])
  })

  it('is the account of the machine on the socket of the owner', async (t) => {
    const { service } = await openServer(t)
    const { run } = await openHome(t)
    const { stdout } = await run(['whoami', '--data', service.folder.path])
    assert.match(stdout, /^server\tunix:\/.*\/\.control\n/)
    assert.ok(stdout.includes(`\naccount\t${systemAccount()}\n`), stdout)
  })

  it('shows which server is called, whatever that one says', async (t) => {
    const url = await serveJson(t, 200, {
      account: '\u202eeve',
      server: 'https://book.example.net',
      scope: [1],
    })
    const { run, see } = await openHome(t, { CONNBOOK_SERVER: url })
    assert.ok((await run(['whoami'])).stdout.startsWith(`server\t${url}\n`))
    for (const form of [[], ['--json']]) {
      const { stdout } = await see(['whoami', ...form])
      assert.match(stdout, /\\u202eeve/)
      assert.doesNotMatch(stdout, /\p{Cf}|book\.example/u)
    }
  })

  it('says of anything else that it does not say who calls', async (t) => {
    for (const body of [{}, [], { account: 1 }]) {
      const url = await serveJson(t, 200, body)
      const { run } = await openHome(t, { CONNBOOK_SERVER: url })
      const { code, stderr } = await run(['whoami'])
      assert.deepEqual(
        [code, stderr],
        [1, `connbook: ${url} does not say who calls; is it an older connbook?\n`],
      )
    }
  })
})
