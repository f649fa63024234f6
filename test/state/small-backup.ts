import { addAccount, noAccounts } from '../../src/auth/accounts.ts'
import { digestSecret } from '../../src/auth/secret.ts'
import { dataPaths } from '../../src/files/data-folder.ts'
import type { Backup } from '../../src/state/backup-document.ts'
import { replaceState } from '../../src/state/restore.ts'
import { Configuration } from '../../src/store/configuration.ts'
import { draft } from '../support/store.ts'
import { type Lifetime, temporaryFolder } from '../support/temporary-folder.ts'

const user = addAccount(noAccounts, 'user', 'admin', digestSecret('1'))

/** A user, a client and two records; gaps between the ids show that others were removed. */
export const smallBackup: Backup & { readonly records: readonly Configuration[] } = {
  store: '0123456789abcdef0123456789abcdef',
  revision: 9,
  lastId: 7,
  count: 2,
  createdAt: '2026-01-02T03:04:05.678Z',
  accounts: addAccount(user, 'client', 'script', digestSecret('2'), 'read'),
  records: [
    new Configuration(3, draft('c')),
    new Configuration(5, draft('e', { hostname: '192.0.2.1', labels: { env: 'prod' } })),
  ],
}

/** A data folder with the state of `smallBackup`. */
export async function smallFolder(t: Lifetime): Promise<string> {
  const folder = await temporaryFolder(t)
  await replaceState(dataPaths(folder), smallBackup)
  return folder
}
