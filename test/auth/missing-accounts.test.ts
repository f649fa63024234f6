import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { addAccount, noAccounts } from '../../src/auth/accounts.ts'
import { folderCredentials } from '../../src/auth/folder-credentials.ts'
import { findMissingAccess, warnOfMissingAccess } from '../../src/auth/missing-accounts.ts'
import { dataPaths } from '../../src/files/data-folder.ts'
import { createMemoryLog } from '../support/memory-log.ts'

const reader = addAccount(noAccounts, 'client', 'probe', 'sha256:x', 'read')
const writer = addAccount(reader, 'client', 'deploy', 'sha256:x')

describe('missing accounts', () => {
  it('are found when there are none, and when all are read-only', () => {
    assert.equal(findMissingAccess(noAccounts), 'log_in')
    assert.equal(findMissingAccess(reader), 'change')
    assert.equal(findMissingAccess(writer), undefined)
    assert.equal(findMissingAccess(addAccount(reader, 'user', 'eve', 'sha256:x')), undefined)
  })

  it('are logged, with the command that adds one', () => {
    const log = createMemoryLog()
    const { addingCommand } = folderCredentials(dataPaths('/a b'))
    for (const accounts of [noAccounts, reader, writer]) warnOfMissingAccess(accounts, addingCommand, log)
    assert.equal(log.lines.length, 2)
    assert.match(log.lines[0] ?? '', /"level":"warn","event":"nobody_can_log_in"/)
    assert.match(log.lines[1] ?? '', /"level":"warn","event":"nobody_can_change"/)
    for (const line of log.lines) assert.match(line, /run: connbook user add NAME --data '\/a b'/)
  })
})
