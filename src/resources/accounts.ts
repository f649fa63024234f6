import {
  type AccountAdministration,
  type ChangedAccount,
  tagOf,
  unknownAccount,
} from '../auth/account-administration.ts'
import { type Account, type AccountKind, scopeOf } from '../auth/accounts.ts'
import type { ProblemCode } from '../error-types.ts'
import { conditionIn, isUnchanged } from '../http/header-fields.ts'
import { JSON_TYPE, jsonReply, type Reply, type Request, readJsonObject, textReply } from '../http/message.ts'
import { widestOf } from '../http/scope.ts'
import { ACCOUNT_NAME_CHARACTERS_MAX } from '../limits.ts'
import type { Parameter } from '../openapi/operation.ts'
import { parseAccountPatch, parseNewAccount } from './account-body.ts'
import { json, jsonBody } from './bodies.ts'
import { checkIfMatch } from './list-reply.ts'
import { defineResource, type RouteDescription } from './resource.ts'

/** What is said of each kind. */
const kinds = {
  user: {
    all: 'users',
    id: 'User',
    addition:
      'adds a user: `{"name":…,"password":…}`; optional: `scope`, which is `write` without it, and `grants`',
    addNotes: 'The scope is `write` if none is given.',
    added: '201 with `Location`; 409',
    change: 'changes `scope`, `grants` or `password`; a new password ends the sessions of the user',
    schemas: { added: 'OneAccount', changed: 'OneAccount', draft: 'NewUser', patch: 'UserPatch' },
  },
  client: {
    all: 'clients',
    id: 'Client',
    addition:
      'adds a client: `{"name":…}`; optional: `scope`, which is `write` without it, `grants`, and a chosen `secret`',
    addNotes:
      'The scope is `write` if none is given. Without `secret` one is made, which only this answer has.',
    added: '201 with `Location` and a made `secret`; 409',
    change:
      'changes `scope`, `grants` or `secret`, or makes a secret for `"rotate":true`; another secret ends the tokens of the client',
    schemas: { added: 'OneClient', changed: 'OneClient', draft: 'NewClient', patch: 'ClientPatch' },
  },
} as const satisfies Record<AccountKind, unknown>

const accountInPath: Parameter = {
  name: 'account',
  in: 'path',
  description: 'The name of the user, or the id of the client, percent-encoded; a slash in it, too.',
  schema: { type: 'string', minLength: 1, maxLength: ACCOUNT_NAME_CHARACTERS_MAX },
}

const changeProblems: readonly ProblemCode[] = [
  'overloaded',
  'storage_unavailable',
  'storage_full',
  'outcome_unknown',
]

/** Users, for admins. */
export const users = accountResource('user')

/** API clients, for admins. */
export const clients = accountResource('client')

function accountResource(kind: AccountKind) {
  return defineResource({
    handlers: ({ administration, basePath }) => accountsHandlers(kind, administration, basePath),
    /** Its answers have URLs. */
    dependsOnBasePath: true,
    routes: [...routesOfAll(kind), ...routesOfOne(kind)],
  })
}

function routesOfAll(kind: AccountKind): RouteDescription<'list' | 'add'>[] {
  const { all, id, addition, addNotes, added, schemas } = kinds[kind]
  const path = `/v1/${all}/`
  return [
    {
      method: 'GET',
      path,
      access: 'admin',
      limits: 'same',
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
      method: 'POST',
      path,
      access: 'admin',
      limits: 'same',
      summary: addition,
      answers: added,
      operation: {
        id: `add${id}`,
        tag: 'accounts',
        notes: addNotes,
        body: jsonBody(schemas.draft),
        answers: {
          201: {
            description: `The ${kind} as it was added.`,
            headers: ['ETag', 'Location'],
            content: json(schemas.added),
          },
        },
        problems: ['name_taken', 'too_many_accounts', ...changeProblems],
      },
      handler: 'add',
    },
  ]
}

function routesOfOne(kind: AccountKind): RouteDescription<'get' | 'modify' | 'remove'>[] {
  const { all, id, change, schemas } = kinds[kind]
  const path = `/v1/${all}/:account`
  const lastAdmin: readonly ProblemCode[] = kind === 'user' ? ['last_admin'] : []
  const ofOne = { tag: 'accounts', parameters: [accountInPath], isConditional: true } as const
  return [
    {
      method: 'GET',
      path,
      access: 'admin',
      limits: 'same',
      summary: `gets one ${kind}`,
      answers: '200; 404',
      operation: {
        id: `get${id}`,
        ...ofOne,
        answers: { 200: { description: `The ${kind}.`, headers: ['ETag'], content: json('OneAccount') } },
        problems: ['unknown_account'],
      },
      handler: 'get',
    },
    {
      method: 'PATCH',
      path,
      access: 'admin',
      limits: 'same',
      summary: change,
      answers: kind === 'user' ? '200; 404, 409' : '200 with a made `secret`; 404, 409',
      operation: {
        id: `modify${id}`,
        ...ofOne,
        body: jsonBody(schemas.patch),
        answers: {
          200: {
            description: `The ${kind} as it is now.`,
            headers: ['ETag'],
            content: json(schemas.changed),
          },
        },
        problems: ['unknown_account', ...lastAdmin, 'too_many_accounts', ...changeProblems],
      },
      handler: 'modify',
    },
    {
      method: 'DELETE',
      path,
      access: 'admin',
      limits: 'same',
      summary: `removes a ${kind}; ends its ${kind === 'user' ? 'sessions' : 'tokens'}`,
      answers: kind === 'user' ? '204, no body; 404, 409' : '204, no body; 404',
      operation: {
        id: `remove${id}`,
        ...ofOne,
        answers: { 204: { description: 'Removed.' } },
        problems: ['unknown_account', ...lastAdmin, ...changeProblems],
      },
      handler: 'remove',
    },
  ]
}

interface AccountText {
  readonly etag: string
  readonly body: string
}

/** @param basePath Prefix of the URLs in answers. */
export function accountsHandlers(kind: AccountKind, administration: AccountAdministration, basePath: string) {
  /** What is read of lists, made once for each. */
  const texts = new WeakMap<readonly Account[], AccountText>()
  return { list, add, get, modify, remove }

  function list(request: Request): Reply {
    const accounts = administration.list(kind)
    const text = texts.get(accounts) ?? textOf(accounts)
    texts.set(accounts, text)
    return found(request, text)
  }

  function get(request: Request, name: string): Reply {
    const account = administration.find(kind, name)
    if (account === undefined) throw unknownAccount(kind, name)
    return found(request, textOf([account]))
  }

  async function add(request: Request): Promise<Reply> {
    const draft = parseNewAccount(kind, await readJsonObject(request))
    const added = await administration.add(request, kind, draft)
    const path = `${basePath}/v1/${kinds[kind].all}/${encodeURIComponent(draft.name)}`
    return changed(201, added, { Location: path })
  }

  async function modify(request: Request, name: string): Promise<Reply> {
    const patch = parseAccountPatch(kind, name, await readJsonObject(request))
    return changed(200, await administration.modify(request, kind, name, patch, conditionIn(request.headers)))
  }

  async function remove(request: Request, name: string): Promise<Reply> {
    const { warning } = await administration.remove(request, kind, name, conditionIn(request.headers))
    if (warning !== undefined) return jsonReply(200, { warning })
    return { status: 204, headers: { 'Cache-Control': 'no-store' } }
  }

  function textOf(accounts: readonly Account[]): AccountText {
    return { etag: tagOf(accounts), body: JSON.stringify({ accounts: accounts.map(shown) }) }
  }

  function found(request: Request, { etag, body }: AccountText): Reply {
    checkIfMatch(request, etag)
    if (isUnchanged(request.headers['if-none-match'], etag))
      return { status: 304, headers: { 'Cache-Control': 'no-store', ETag: etag } }
    return textReply(200, body, { 'Content-Type': JSON_TYPE, ETag: etag })
  }

  function changed(status: number, { account, secret, warning }: ChangedAccount, headers = {}): Reply {
    const made = secret === undefined ? {} : { secret }
    return jsonReply(
      status,
      { accounts: [{ ...shown(account), ...made }], warning },
      { ETag: tagOf([account]), ...headers },
    )
  }

  function shown(account: Account) {
    const { name, grants } = account
    return { name, kind, scope: widestOf(scopeOf(account)), ...(grants && { grants }) }
  }
}
