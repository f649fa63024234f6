import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { openAuditTrail } from '../../src/audit/audit-trail.ts'
import {
  type Accounts,
  addAccount,
  changeSecret,
  findAccount,
  noAccounts,
  raiseGeneration,
} from '../../src/auth/accounts.ts'
import { Authenticator, type AuthenticatorOptions } from '../../src/auth/authenticator.ts'
import { openRevocations } from '../../src/auth/folder-revocations.ts'
import { digestSecret, generateSecret } from '../../src/auth/secret.ts'
import { nameCookie } from '../../src/auth/session-cookie.ts'
import { type Claims, createSigningKey, type SigningKey, signToken } from '../../src/auth/signed-token.ts'
import { dataFiles } from '../../src/files/data-folder.ts'
import type { Request } from '../../src/http/message.ts'
import { holdClock } from '../support/held-clock.ts'
import { createMemoryLog } from '../support/memory-log.ts'
import { caller, requestOf } from '../support/message.ts'
import { cheapHashOf } from '../support/started-folder.ts'
import { type Lifetime, openedFolder } from '../support/temporary-folder.ts'

export const SESSION_TTL_SECONDS = 600
export const TOKEN_TTL_SECONDS = 60

export const user = { name: 'admin', secret: 'correct horse' }
export const client = { name: 'script', secret: generateSecret() }
const key = createSigningKey('k1', Buffer.alloc(32, 1))
export const keys = [key] as const

/** Fixed keys: the first signs, any verifies. */
export function unchanging(all: readonly [SigningKey, ...SigningKey[]]) {
  return { signing: all[0], verifying: all }
}

const userHash = await cheapHashOf(user.secret)

/** Generations 1 to 3: `user`, `client` and a user `other`. */
const accounts = [
  ['user', user.name, userHash],
  ['client', client.name, digestSecret(client.secret)],
  ['user', 'other', userHash],
] as const

/** The part of a request that authentication uses. */
export function request(headers: Request['headers']): Request {
  const readBody = () => assert.fail('nobody reads the body')
  return { ...requestOf(headers), method: 'GET', readBody, readPieces: readBody }
}

const STORE = 'store'
/** The name of the session cookie for the path `/` without TLS. */
export const COOKIE = nameCookie('/', false, STORE)
export const asCookie = (token: string) => request({ cookie: `${COOKIE}=${token}` })
export const asBearer = (token: string) => request({ authorization: `Bearer ${token}` })

/** An authenticator over a real file of revocations, with accounts and a clock that the test controls. */
export async function setUpAuthenticator(t: Lifetime) {
  const folder = await openedFolder(t)
  const clock = holdClock()
  const log = createMemoryLog()
  let current: Accounts = accounts.reduce(
    (all, [kind, name, secret]) => addAccount(all, kind, name, secret),
    noAccounts,
  )
  let lookUps = 0
  const listeners: (() => void)[] = []
  const open = () => openRevocations(folder, { mustExist: false, log, makeClock: clock.make })
  const audit = await openAuditTrail(folder, log)
  t.after(() => audit.close())
  let revocations = await open()
  t.after(() => revocations.close())

  const make = (others: Partial<AuthenticatorOptions> = {}) =>
    new Authenticator({
      accounts: {
        find(kind, name) {
          lookUps += 1
          return findAccount(current, kind, name)
        },
        get hasChosenClientSecret() {
          return current.clients.some(({ secret }) => secret.startsWith('$'))
        },
        onChange: (listener) => listeners.push(listener),
        async endCredentials(kind, name) {
          current = raiseGeneration(current, kind, name)
          for (const listener of listeners) listener()
          return true
        },
        async changePassword(name, _generation, secret, isAllowed) {
          if (!isAllowed()) return undefined
          current = changeSecret(current, 'user', name, secret)
          for (const listener of listeners) listener()
          return findAccount(current, 'user', name)
        },
      },
      keys: unchanging([key]),
      revocations,
      sessionTtlSeconds: SESSION_TTL_SECONDS,
      tokenTtlSeconds: TOKEN_TTL_SECONDS,
      path: '/',
      store: STORE,
      audit,
      log,
      ...others,
    })
  const authenticator = make()

  return {
    authenticator,
    audit,
    clock,
    log,
    make,
    /** How often accounts were looked up: a remembered token needs none. */
    lookUps: () => lookUps,
    isIn: ({ headers }: Pick<Request, 'headers'>) =>
      authenticator.authenticate(request(headers)) !== undefined,
    async change(edit: (before: Accounts) => Accounts | Promise<Accounts>) {
      current = await edit(current)
      for (const listener of listeners) listener()
    },
    revocationsFile: () => readFile(folder.file(dataFiles.revocations), 'utf8'),
    /** Another authenticator, as after a restart, or, if the old one is not closed, as after a kill. */
    async reopen({ isKilled = false } = {}) {
      const before = revocations
      if (isKilled) t.after(() => before.close())
      else await before.close()
      revocations = await open()
      return make({ revocations })
    },
    /** The token of a new session of `user`. */
    async logIn(): Promise<string> {
      const cookie = await authenticator.logIn(caller, user.name, user.secret)
      return /^connbook_session_[0-9a-f]{8}=([^;]+);/.exec(cookie ?? '')?.[1] ?? assert.fail('not logged in')
    },
    /** A new token of `client`. */
    async getToken(): Promise<string> {
      const issued = await authenticator.issueToken(caller, [{ id: client.name, secret: client.secret }])
      return issued?.access_token ?? assert.fail('no token')
    },
    /** A token with a good signature: a session of `user` but for `claims`. */
    sign(claims: Partial<Claims>): string {
      const iat = Math.floor(clock.wall / 1000)
      const times = { iat, exp: iat + SESSION_TTL_SECONDS }
      return signToken(
        { iss: 'connbook', sub: user.name, aud: 'session', ...times, jti: 'j', gen: 1, ...claims },
        key,
      )
    },
  }
}
