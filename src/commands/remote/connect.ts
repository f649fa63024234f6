import { resolve } from 'node:path'
import { readSecretVariable } from '../../auth/secret.ts'
import { Client } from '../../client/client.ts'
import {
  type Credential,
  clientCredential,
  noCredential,
  ownerCredential,
  sessionCredential,
  tokenCredential,
} from '../../client/credential.ts'
import {
  clientVariables,
  DEFAULT_URL,
  ENDPOINT_FORMS,
  type Endpoint,
  isPrivate,
  parseEndpoint,
  urlMeant,
} from '../../client/endpoint.ts'
import { type Login, type Logins, loginsOf } from '../../client/logins.ts'
import { speaksTls } from '../../client/tls-probe.ts'
import { findUnusedProxy } from '../../client/unused-proxy.ts'
import type { CommandContext, CommandInput } from '../../command-line/command.ts'
import type { Options } from '../../command-line/options.ts'
import { ConnbookError, UsageError } from '../../errors.ts'
import { dataPaths } from '../../files/data-folder.ts'
import type { Scope } from '../../http/scope.ts'
import { givenVariables } from '../../service/first-start.ts'
import { readAuthorities } from '../../service/tls-files.ts'
import { commandActor } from '../../state/command-audit.ts'
import { hidePassword } from '../../text.ts'
import { findUnnamedFolder, isFolderNamed } from '../chosen-folder.ts'
import { type FolderUse, folderEndpoint } from './folder-endpoint.ts'

/** The flags that say which server, and how. */
export const clientFlags = ['server', 'data', 'authority', 'plain', 'noRetry'] as const

/** The same for a command that works on a folder alone. */
export const folderFlags = ['server', 'data', 'noRetry'] as const

interface ClientInput {
  readonly options: Pick<Options, (typeof folderFlags)[number]> &
    Partial<Pick<Options, (typeof clientFlags)[number] | 'reason'>>
  readonly given: CommandInput['given']
}

/** What a command needs of the book that it means. */
export interface BookUse extends FolderUse {
  /** What a token must be good for that has to be got first, if that is more than records. */
  readonly scope?: Scope
  /** Whether no book counts that is only found in `./data`. */
  readonly isNamedOnly?: boolean
}

type Started = Pick<CommandContext, 'environment' | 'screen' | 'opened'>

/** A credential would be sent where others can read it. */
export class NotPrivateError extends ConnbookError {
  readonly code = 'not_private'
}

/** There is no login to end. */
export class NoLoginError extends ConnbookError {
  readonly code = 'no_login'
}

interface ChosenBook {
  readonly endpoint: Endpoint
  readonly isOwners?: boolean
  /** Not read yet if undefined. */
  readonly logins?: readonly Login[]
}

/**
 * Finds the book that flags, variables and kept logins name, and who calls there: a server, or a folder, whether a server
 * has it or not. Without any of them: the book in `./data`; for root, that of the service; DEFAULT_URL.
 *
 * @param command Its words, for the audit trail of a book that is called as its owner.
 * @throws {UsageError} if no one book is named, if only a folder counts and a server is named, or for a `./data` of
 *   somebody else. {NotPrivateError} {LoginsRefusedError} {DamagedFileError}
 */
export async function connect(
  input: ClientInput,
  context: Started,
  command: string,
  use: BookUse = {},
): Promise<Client> {
  const { environment } = context
  const logins = loginsOf(environment)
  const chosen = await chooseBook(input, context, logins, use)
  const { noRetry, reason, authority, plain } = input.options
  if (chosen.isOwners === true)
    return new Client(chosen.endpoint, ownerCredential(commandActor(command, environment)), !noRetry, reason)
  if (use.isFolderOnly) throw noFolder(command, chosen.endpoint)
  const { credential, login } = await chooseCredential(chosen, environment, logins, !noRetry, use.scope)
  const endpoint = calledFrom(chosen.endpoint, authority ?? login?.authorities, environment)
  checkPrivate(endpoint, credential, plain === true || login?.isPlain === true)
  return new Client(endpoint, credential, !noRetry, reason)
}

function noFolder(command: string, { name }: Endpoint): UsageError {
  return new UsageError(
    `Cannot run "connbook ${command}" at ${name}: it works on a data folder alone; name that with --data FOLDER`,
  )
}

/**
 * The kept login of the server that flags, variables and kept logins name.
 *
 * @throws {NoLoginError} if there is none. Also throws as `connect` does.
 */
export async function findLogin(
  { options: { server } }: { readonly options: { readonly server: string | undefined } },
  logins: Logins,
): Promise<Login> {
  const kept = await logins.list()
  const [only, ...others] = kept
  if (server === undefined && others.length > 0) throw severalLogins(kept)
  const name = server === undefined ? only?.server : (await namedEndpoint(server, logins)).endpoint.name
  const login = kept.find((each) => each.server === name)
  if (login !== undefined) return login
  throw new NoLoginError(name === undefined ? 'No login is kept' : `No login at ${name} is kept`)
}

/** @throws {NotPrivateError} if others could read the credential, and that is not allowed. */
export function checkPrivate(
  endpoint: Endpoint,
  { isSecret }: Pick<Credential, 'isSecret'>,
  isAllowed: boolean,
) {
  if (!isSecret || isAllowed || isPrivate(endpoint)) return
  throw new NotPrivateError(
    `Nothing was sent to ${endpoint.name}: others on the network could read the credential; use https, or add --plain`,
  )
}

/**
 * The endpoint as this process calls it.
 *
 * @param authorities The path of a file of certificates; undefined for none. @throws {UsageError} if it cannot be used.
 */
export function calledFrom(
  endpoint: Endpoint,
  authorities: string | undefined,
  environment: NodeJS.ProcessEnv,
): Endpoint {
  const called = { ...endpoint, unusedProxy: findUnusedProxy(endpoint, environment) }
  return authorities === undefined
    ? called
    : { ...called, authorities: [readAuthorities('--ca', authorities)] }
}

/** @throws {UsageError} if the text is not an endpoint. */
export async function getEndpoint(text: string): Promise<Endpoint> {
  const endpoint = parseEndpoint(text)
  if (endpoint !== undefined) return endpoint
  throw new UsageError(
    `Cannot call "${hidePassword(text)}": it must be ${ENDPOINT_FORMS}${await offer(text)}`,
  )
}

/** A URL without the user, and so without the password. */
function withoutUser(text: string): string {
  return text.replace(/^(https?:\/\/).*@/i, '$1')
}

async function offer(text: string): Promise<string> {
  if (parseEndpoint(withoutUser(text)) !== undefined && text.includes('@'))
    return `; leave user and password out, and give them to connbook login ${withoutUser(text)}`
  const meant = urlMeant(text)
  if (meant === undefined) return ''
  const plain = parseEndpoint(meant)
  const isTls = plain !== undefined && !plain.isSecure && (await speaksTls(plain))
  return `; did you mean ${isTls ? meant.replace('http:', 'https:') : meant}?`
}

async function chooseBook(
  input: ClientInput,
  context: Started,
  logins: Logins,
  use: BookUse,
): Promise<ChosenBook> {
  const { environment } = context
  const {
    options: { server, data },
    given,
  } = input
  if (server !== undefined && (given.has('--server') || !given.has('--data')))
    return namedEndpoint(server, logins)
  if (isFolderNamed(input, environment)) {
    const folder = dataPaths(resolve(data))
    return { endpoint: folderEndpoint(folder, use, context), isOwners: true }
  }
  const kept = await logins.list()
  const [only, ...others] = kept
  if (others.length > 0) throw severalLogins(kept)
  if (only !== undefined) return { endpoint: await getEndpoint(only.server), logins: kept }
  const found = use.isNamedOnly ? undefined : await findUnnamedFolder(data)
  // Whoever names no folder makes none.
  if (found !== undefined)
    return { endpoint: folderEndpoint(found, { ...use, isMadeIfMissing: false }, context), isOwners: true }
  const remedy = `there is nothing of connbook in "${data}" either; name a server with --server URL, log in at one with connbook login URL, or name a data folder with --data FOLDER`
  return { endpoint: { ...(await getEndpoint(DEFAULT_URL)), remedy }, logins: kept }
}

function severalLogins(kept: readonly Login[]): UsageError {
  const list = kept.map(({ server }) => `\n  --server ${server}`).join('')
  return new UsageError(`There are logins at several servers; say which one:${list}`)
}

/** A URL, `unix:PATH`, or the host of a kept login. */
async function namedEndpoint(text: string, logins: Logins): Promise<ChosenBook> {
  const endpoint = parseEndpoint(text)
  if (endpoint !== undefined) return { endpoint }
  const kept = await logins.list()
  const found = kept
    .flatMap(({ server }) => parseEndpoint(server) ?? [])
    .filter(({ host, at }) => host === text || ('hostname' in at && at.hostname === text))
  const [only, ...others] = found
  if (only !== undefined && others.length === 0) return { endpoint: only, logins: kept }
  const reason =
    only === undefined ? 'there is no login at a host of that name' : 'several logins are at that host'
  throw new UsageError(
    `Cannot tell which server "${hidePassword(text)}" is: ${reason}; give ${ENDPOINT_FORMS}${await offer(text)}`,
  )
}

async function chooseCredential(
  { endpoint, logins: known }: ChosenBook,
  environment: NodeJS.ProcessEnv,
  logins: Logins,
  isPatient: boolean,
  scope: Scope | undefined,
): Promise<{ readonly credential: Credential; readonly login?: Login | undefined }> {
  const token = environment[clientVariables.token]
  if (token) return { credential: tokenCredential(checkToken(token)) }
  const id = environment[clientVariables.clientId]
  if (id) {
    const secret = await readSecretVariable(clientVariables.clientSecret, environment)
    if (secret !== undefined) return { credential: clientCredential(id, secret, isPatient, { scope }) }
    throw new UsageError(
      `Cannot use ${clientVariables.clientId}: set ${clientVariables.clientSecret}, too${hintOn(environment)}`,
    )
  }
  const login = (known ?? (await logins.list())).find(({ server }) => server === endpoint.name)
  const credential = login === undefined ? noCredential(hintOn(environment)) : sessionCredential(login.cookie)
  return { credential, login }
}

/** Says of variables for a client of a server's first start that they are not those of the commands that call a server. */
function hintOn(environment: NodeJS.ProcessEnv): string {
  const [variable] = givenVariables(environment).filter((name) => name.startsWith('CONNBOOK_CLIENT_'))
  if (variable === undefined) return ''
  const { clientId, clientSecret } = clientVariables
  return `; ${variable} is for the first start of a server, and this command reads ${clientId} and ${clientSecret}`
}

function checkToken(token: string): string {
  if (/^[\x21-\x7e]+$/.test(token)) return token
  throw new UsageError(`Cannot use ${clientVariables.token}: it is not a token`)
}
