import { DamagedFileError, NewerFormError, RESTORE_ADVICE } from '../errors.ts'
import { type DataPaths, dataFiles } from '../files/data-folder.ts'
import { createJsonDocument, type DocumentForm, type JsonDocument } from '../files/json-document.ts'
import { isScope } from '../http/scope.ts'
import { checkMembers, isObject } from '../json.ts'
import { readGrants } from '../store/grants.ts'
import type { Account, Accounts } from './accounts.ts'
import { isPasswordHash } from './password.ts'

const ADVICE = `put it back from a copy of the folder, or ${RESTORE_ADVICE}`

/** The form of stored accounts. In version 1, no account has the scope `admin` or grants. */
export const accountsForm: DocumentForm<Accounts> = {
  format: 'connbook accounts',
  version: 2,
  parse: parseAccounts,
}

/** The accounts file of a folder. */
export function accountsDocument(folder: DataPaths): JsonDocument<Accounts> {
  const path = folder.file(dataFiles.accounts)
  return createJsonDocument(path, accountsForm, ADVICE, folder.files)
}

/** For a folder with records, which must have had accounts. */
export function accountsMissing(folder: DataPaths): DamagedFileError {
  return new DamagedFileError(folder.file(dataFiles.accounts), 0, 'the file is missing', ADVICE)
}

/** @throws {SyntaxError} if it is not the content of an accounts file. */
export function parseAccounts(input: unknown): Accounts {
  if (!isObject(input) || typeof input.lastGeneration !== 'number')
    throw new SyntaxError('it holds no accounts')
  const { lastGeneration, users, clients, isPrepared, ...others } = input
  checkMembers(others, [], 'the accounts')
  const accounts = { lastGeneration, users: parseList(users), clients: parseList(clients) }
  if (isPrepared === undefined) return accounts
  if (isPrepared !== true) throw new NewerFormError('the way in which the folder was prepared')
  return { ...accounts, isPrepared }
}

function parseList(input: unknown): Account[] {
  if (!Array.isArray(input)) throw new SyntaxError('it holds no list of accounts')
  return input.map((entry: unknown) => {
    if (!isObject(entry)) throw new SyntaxError('it holds something that is no account')
    const { name, secret, generation, scope, grants, ...others } = entry
    checkMembers(others, [], 'an account')
    if (typeof name !== 'string' || typeof secret !== 'string' || typeof generation !== 'number')
      throw new SyntaxError('it holds an account that is not complete')
    if (!secret.startsWith('sha256:') && !isPasswordHash(secret)) {
      throw new NewerFormError(`the way in which the secret of "${name}" is stored`)
    }
    // An unknown scope must never count as WRITE_SCOPE, and unknown grants never as all records.
    if (scope !== undefined && !isScope(scope)) throw new NewerFormError(`the scope of "${name}"`)
    const limits = grants === undefined ? undefined : readGrants(grants, () => {})
    if (grants !== undefined && limits === undefined) throw new NewerFormError(`the grants of "${name}"`)
    return {
      ...{ name, secret, generation },
      ...(scope === undefined ? {} : { scope }),
      ...(limits === undefined ? {} : { grants: limits }),
    }
  })
}
