import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findAccount } from '../../src/auth/accounts.ts'
import { accountsDocument } from '../../src/auth/accounts-file.ts'
import { verifyPassword } from '../../src/auth/password.ts'
import { dataFiles, dataPaths } from '../../src/files/data-folder.ts'
import { usedFolder } from '../support/service.ts'
import type { Lifetime } from '../support/temporary-folder.ts'

/** A folder for `user add eve`; `opens` says whether a password is the one of `eve`. */
export async function makePasswordFolder(t: Lifetime) {
  const folder = await usedFolder(t)
  const document = accountsDocument(dataPaths(folder))
  return {
    folder,
    accountsText: () => readFile(join(folder, dataFiles.accounts), 'utf8'),
    async opens(typed: string) {
      const secret = findAccount((await document.read()) ?? assert.fail('no accounts'), 'user', 'eve')?.secret
      return secret !== undefined && (await verifyPassword(typed, secret))
    },
  }
}
