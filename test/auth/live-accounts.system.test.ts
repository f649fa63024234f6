import '../support/node-version.ts'
import { execFileSync } from 'node:child_process'
import { unlink } from 'node:fs/promises'
import { describe, it } from 'node:test'
import { assertKeptWhileDamaged } from './followed-accounts.ts'

describe('LiveAccounts', () => {
  it('keeps its accounts while the file is a pipe, and logs that once', (t) => {
    const damage = async (path: string) => {
      await unlink(path)
      execFileSync('mkfifo', [path])
    }
    return assertKeptWhileDamaged(t, damage, 'accounts_reload_failed')
  })
})
