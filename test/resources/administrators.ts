import type { TestContext } from 'node:test'
import { addAccount } from '../../src/auth/accounts.ts'
import { accountsDocument } from '../../src/auth/accounts-file.ts'
import { digestSecret, generateSecret } from '../../src/auth/secret.ts'
import { dataPaths } from '../../src/files/data-folder.ts'
import { scopeFor } from '../../src/http/scope.ts'
import { getToken, logIn } from '../support/api.ts'
import { type Answer, createClient } from '../support/http-client.ts'
import { folderWithReaders } from '../support/readers.ts'
import { admin, start } from '../support/service.ts'

/** A client that may manage accounts. */
export const managing = { client_id: 'manager', client_secret: generateSecret() }

/** The status and the code of a problem. */
export function problemIn(answer: Answer): [status: number, code: string] {
  return [answer.status, answer.json<{ type: string }>().type.replace('urn:connbook:problem:', '')]
}

/** A service whose accounts are `admin`, `reader`, `script`, `viewer` and `manager`; requests are made by `admin`. */
export async function administered(t: TestContext) {
  const folder = await folderWithReaders(t)
  const document = accountsDocument(dataPaths(folder))
  const found = await document.read()
  if (found === undefined) throw new Error('There are no accounts')
  const { client_id, client_secret } = managing
  await document.write(addAccount(found, 'client', client_id, digestSecret(client_secret), scopeFor('admin')))
  const service = await start(t, { folder, environment: {} })
  const { url } = service
  return {
    ...{ folder, service, url, document },
    ask: createClient(url, await logIn(url, admin)),
    /** By a token of `manager`. */
    askAsClient: createClient(url, await getToken(url, { ...managing, scope: 'admin' })),
  }
}
