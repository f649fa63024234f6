import { type AccountAdministration, tagOf } from '../auth/account-administration.ts'
import { type Account, type AccountKind, scopeOf } from '../auth/accounts.ts'
import { isUnchanged } from '../http/header-fields.ts'
import { jsonReply, type Reply, type Request } from '../http/message.ts'
import { Problem } from '../http/problem.ts'
import { widestOf } from '../http/scope.ts'
import { ACCOUNT_NAME_CHARACTERS_MAX } from '../limits.ts'
import type { Parameter } from '../openapi/operation.ts'
import { json } from './bodies.ts'
import { checkIfMatch } from './list-reply.ts'
import { defineResource, type RouteDescription } from './resource.ts'

const kindTexts = {
  user: { one: 'user', all: 'users', id: 'User' },
  client: { one: 'client', all: 'clients', id: 'Client' },
} as const satisfies Record<AccountKind, unknown>

const accountInPath: Parameter = {
  name: 'account',
  in: 'path',
  description: 'The name of the user, or the id of the client, percent-encoded; a slash in it, too.',
  schema: { type: 'string', minLength: 1, maxLength: ACCOUNT_NAME_CHARACTERS_MAX },
}

/** Users, for admins. */
export const users = accountResource('user')

/** API clients, for admins. */
export const clients = accountResource('client')

function accountResource(kind: AccountKind) {
  return defineResource({
    handlers: ({ administration }) => accountsHandlers(kind, administration),
    routes: routesFor(kind),
  })
}

function routesFor(kind: AccountKind): RouteDescription<'list' | 'get'>[] {
  const { one, all, id } = kindTexts[kind]
  return [
    {
      method: 'GET',
      path: `/v1/${all}/`,
      access: 'admin',
      summary: `lists the ${all}, by name; never their secrets`,
      answers: '200 `{"accounts":[{"name":…,"kind":…,"scope":…}]}`',
      operation: {
        id: `list${id}s`,
        tag: 'accounts',
        isConditional: true,
        answers: { 200: { description: `All ${all}.`, headers: ['ETag'], content: json('Accounts') } },
      },
      handler: 'list',
    },
    {
      method: 'GET',
      path: `/v1/${all}/:account`,
      access: 'admin',
      summary: `gets one ${one}`,
      answers: '200; 404',
      operation: {
        id: `get${id}`,
        tag: 'accounts',
        parameters: [accountInPath],
        isConditional: true,
        answers: { 200: { description: `The ${one}.`, headers: ['ETag'], content: json('OneAccount') } },
        problems: ['unknown_account'],
      },
      handler: 'get',
    },
  ]
}

export function accountsHandlers(kind: AccountKind, administration: AccountAdministration) {
  return { list, get }

  function list(request: Request): Reply {
    return found(request, administration.list(kind))
  }

  function get(request: Request, name: string): Reply {
    const account = administration.find(kind, name)
    if (account === undefined) throw new Problem('unknown_account', `There is no ${kind} "${name}"`)
    return found(request, [account])
  }

  function found(request: Request, accounts: readonly Account[]): Reply {
    const etag = tagOf(accounts)
    checkIfMatch(request, etag)
    if (isUnchanged(request.headers['if-none-match'], etag))
      return { status: 304, headers: { 'Cache-Control': 'no-store', ETag: etag } }
    return jsonReply(200, { accounts: accounts.map(shown) }, { ETag: etag })
  }

  function shown(account: Account) {
    return { name: account.name, kind, scope: widestOf(scopeOf(account)) }
  }
}
