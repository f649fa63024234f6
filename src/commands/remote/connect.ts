import { resolve } from 'node:path'
import { readSecretVariable } from '../../auth/secret.ts'
import { UnreachableError } from '../../client/call.ts'
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
import { findOwnerSocket } from '../../client/owner-socket.ts'
import { speaksTls } from '../../client/tls-probe.ts'
import { findUnusedProxy } from '../../client/unused-proxy.ts'
import type { CommandContext, CommandInput } from '../../command-line/command.ts'
import type { Options } from '../../command-line/options.ts'
import { ConnbookError, UsageError } from '../../errors.ts'
import { dataPaths } from '../../files/data-folder.ts'
import { realFileSystem } from '../../files/file-system.ts'
import { checkNoDanglingLink } from '../../files/refusal.ts'
import type { Scope } from '../../http/scope.ts'
import { givenVariables } from '../../service/first-start.ts'
import { readAuthorities } from '../../service/tls-files.ts'
import { wordForShell } from '../../shell.ts'
import { commandActor } from '../../state/command-audit.ts'
import { hasData } from '../../state/used-folder.ts'
import { hidePassword } from '../../text.ts'
import { checkOwnFolder, isFolderNamed } from '../chosen-folder.ts'

/** The flags that say which server, and how. */
export const clientFlags = ['server', 'data', 'authority', 'plain', 'noRetry'] as const

interface ClientInput {
  /** `etcd` is of commands that also read a cluster. */
  readonly options: Pick<Options, (typeof clientFlags)[number]> & Partial<Pick<Options, 'etcd' | 'reason'>>
  readonly given: CommandInput['given']
}

/** A credential would be sent where others can read it. */
export class NotPrivateError extends ConnbookError {
  readonly code = 'not_private'
}

/** There is no login to end. */
export class NoLoginError extends ConnbookError {
  readonly code = 'no_login'
}

interface ChosenServer {
  readonly endpoint: Endpoint
  readonly isOwners?: boolean
  /** Not read yet if undefined. */
  readonly logins?: readonly Login[]
}

/** A server that was killed leaves its socket behind. */
const DEAD_SERVER = 'start the server of that folder, or name another with --server'

/** @param folder A folder with a running server that root could use by naming it; undefined without one. */
async function defaultServer(folder?: string): Promise<ChosenServer> {
  const remedy =
    folder === undefined
      ? 'name a server with --server URL, log in at one with connbook login URL, or name the folder of one with --data FOLDER'
      : `to call the server of ./data as root, name the folder: --data ${wordForShell(folder)}`
  return { endpoint: { ...(await getEndpoint(DEFAULT_URL)), remedy } }
}

/**
 * Finds the server that flags, variables and kept logins name, and who calls there.
 *
 * @param command Its words, for the audit trail of a server that is called on its owner's socket.
 * @param scope What a token must be good for that has to be got first, if that is more than records.
 * @throws {UsageError} if no one server is named. {UnreachableError} if the folder that is named has no usable socket.
 * @throws {NotPrivateError} {LoginsRefusedError} {DamagedFileError}
 */
export async function connect(
  input: ClientInput,
  { environment }: Pick<CommandContext, 'environment'>,
  command: string,
  scope?: Scope,
): Promise<Client> {
  const logins = loginsOf(environment)
  const chosen = await chooseEndpoint(input, environment, logins)
  return createChosen(chosen, input, environment, logins, command, scope)
}

/**
 * The same for a command that can work on a folder itself, running server or not.
 *
 * @returns undefined if the folder is named, or if no server is and `./data` holds something of connbook.
 * @throws as `connect` does.
 */
export async function connectElsewhere(
  input: ClientInput,
  { environment }: Pick<CommandContext, 'environment'>,
  command: string,
): Promise<Client | undefined> {
  const logins = loginsOf(environment)
  const chosen = await chooseElsewhere(input, environment, logins)
  const { data } = input.options
  if (chosen === undefined) {
    await checkOwnFolder(input, { environment })
    const isFolder = isPlaceNamed(input, environment) || (await hasData(dataPaths(resolve(data))))
    if (isFolder) return undefined
  }
  return createChosen(chosen ?? (await defaultServer()), input, environment, logins, command)
}

/**
 * Calls the server of a folder by its owner's socket.
 *
 * @throws {UnreachableError} if the folder has no usable socket. {UsageError} if root must name the folder.
 */
export async function connectBeside(
  input: ClientInput,
  { environment }: Pick<CommandContext, 'environment'>,
  command: string,
): Promise<Client> {
  const { data } = input.options
  const isNamed = isPlaceNamed(input, environment)
  const endpoint = await getSocket(data, isNamed)
  return createChosen({ endpoint, isOwners: true }, input, environment, loginsOf(environment), command)
}

async function createChosen(
  chosen: ChosenServer,
  { options }: ClientInput,
  environment: NodeJS.ProcessEnv,
  logins: Logins,
  command: string,
  scope?: Scope,
): Promise<Client> {
  if (chosen.isOwners === true)
    return new Client(
      chosen.endpoint,
      ownerCredential(commandActor(command, environment)),
      !options.noRetry,
      options.reason,
    )
  const { credential, login } = await chooseCredential(chosen, environment, logins, !options.noRetry, scope)
  const endpoint = calledFrom(chosen.endpoint, options.authority ?? login?.authorities, environment)
  checkPrivate(endpoint, credential, options.plain || login?.isPlain === true)
  return new Client(endpoint, credential, !options.noRetry, options.reason)
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

async function chooseEndpoint(
  input: ClientInput,
  environment: NodeJS.ProcessEnv,
  logins: Logins,
): Promise<ChosenServer> {
  const chosen = await chooseElsewhere(input, environment, logins)
  if (chosen !== undefined) return chosen
  const { data } = input.options
  if (isPlaceNamed(input, environment)) return { endpoint: await getSocket(data), isOwners: true }
  await checkOwnFolder(input, { environment })
  const own = await findOwnerSocket(resolve(data), false)
  if (own.endpoint !== undefined)
    return { endpoint: { ...own.endpoint, remedy: DEAD_SERVER }, isOwners: true }
  return defaultServer(own.mustBeNamed ? data : undefined)
}

/** The server that a flag or variable or the kept login names; undefined if a folder is named, or nothing. */
async function chooseElsewhere(
  input: ClientInput,
  environment: NodeJS.ProcessEnv,
  logins: Logins,
): Promise<ChosenServer | undefined> {
  const {
    options: { server },
    given,
  } = input
  const isHere = given.has('--data') || given.has('--etcd')
  if (server !== undefined && (given.has('--server') || !isHere)) return namedEndpoint(server, logins)
  if (isPlaceNamed(input, environment)) return undefined
  const kept = await logins.list()
  const [only, ...others] = kept
  if (others.length > 0) throw severalLogins(kept)
  return only === undefined ? undefined : { endpoint: await getEndpoint(only.server), logins: kept }
}

/** Whether a flag or variable names a folder, or a cluster. */
function isPlaceNamed(input: ClientInput, environment: NodeJS.ProcessEnv): boolean {
  return isFolderNamed(input, environment) || input.options.etcd !== undefined
}

function severalLogins(kept: readonly Login[]): UsageError {
  const list = kept.map(({ server }) => `\n  --server ${server}`).join('')
  return new UsageError(`There are logins at several servers; say which one:${list}`)
}

/** A URL, `unix:PATH`, or the host of a kept login. */
async function namedEndpoint(text: string, logins: Logins): Promise<ChosenServer> {
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

/** @throws {UnreachableError} {FolderRefusedError} for a link to nothing. {UsageError} if root must name the folder. */
async function getSocket(folder: string, isNamed = true): Promise<Endpoint> {
  const found = await findOwnerSocket(resolve(folder), isNamed)
  if (found.endpoint !== undefined) return { ...found.endpoint, remedy: DEAD_SERVER }
  if (found.mustBeNamed) throw new UsageError(`Cannot call the server of "${folder}": ${found.reason}`)
  if (found.reason === undefined) await checkNoDanglingLink(resolve(folder), realFileSystem)
  const reason =
    found.reason ?? 'no server has made its socket there; start one, or name another with --server'
  throw new UnreachableError(`Cannot call the server of "${folder}": ${reason}`)
}

async function chooseCredential(
  { endpoint, logins: known }: ChosenServer,
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
