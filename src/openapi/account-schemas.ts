import { allScopes, scopeWords } from '../http/scope.ts'
import type { JsonSchema } from '../json-schema.ts'
import {
  ACCOUNT_NAME_CHARACTERS_MAX,
  GRANTS_MAX,
  PASSWORD_BYTES_MAX,
  PASSWORD_CHARACTERS_MIN,
  SECRET_CHARACTERS_MIN,
} from '../limits.ts'
import { named, object } from './schema-parts.ts'

const CHOSEN = `One line without invisible characters or white space at an end, at most ${PASSWORD_BYTES_MAX} bytes, other than the name`
const scope: JsonSchema = {
  type: 'string',
  enum: scopeWords,
  description: 'What the account may do; each of `read`, `write` and `admin` brings along those before it.',
}
const grants: JsonSchema = {
  type: 'array',
  minItems: 1,
  maxItems: GRANTS_MAX,
  items: { type: 'string', pattern: '^(read|write)([?].+)?$' },
  description:
    'Which records the account sees and may change: each is `read` or `write`, or one of these with `?` and the filters `prefix=` and `label=`. Absent for all records.',
  examples: [['read', 'write?prefix=a%2F']],
}
const newGrants: JsonSchema = {
  ...grants,
  type: ['array', 'null'],
  description: 'Other grants, as in the account; `null` for all records.',
}
const name: JsonSchema = { type: 'string', description: 'The name of a user, or the id of a client.' }
const newName: JsonSchema = {
  type: 'string',
  minLength: 1,
  maxLength: ACCOUNT_NAME_CHARACTERS_MAX,
  description: 'Any Unicode but control characters and lone surrogates; neither `.` nor `..`.',
  examples: ['eve'],
}
const sameName: JsonSchema = { type: 'string', description: 'As it is: it cannot be changed.' }
const password: JsonSchema = {
  type: 'string',
  format: 'password',
  minLength: PASSWORD_CHARACTERS_MIN,
  description: `${CHOSEN} of the user.`,
}
const secret: JsonSchema = {
  type: 'string',
  format: 'password',
  minLength: SECRET_CHARACTERS_MIN,
  description: `${CHOSEN} of the client.`,
}
const user: JsonSchema = { type: 'string', const: 'user' }
const client: JsonSchema = { type: 'string', const: 'client' }

function one(account: JsonSchema): JsonSchema {
  return { type: 'array', minItems: 1, maxItems: 1, items: account }
}

/** Those of accounts and their credentials. */
export const accountSchemas = {
  Caller: object(
    {
      account: { type: 'string' },
      kind: { type: 'string', enum: ['user', 'client', 'command'] },
      scope: { type: 'string', enum: [...allScopes] },
      grants,
      expires_at: {
        type: 'string',
        format: 'date-time',
        description: 'Absent for a command, which comes through the socket of the owner.',
      },
    },
    { required: ['account', 'kind', 'scope'] },
  ),
  Account: object(
    { name, kind: { type: 'string', enum: ['user', 'client'] }, scope, grants },
    { required: ['name', 'kind', 'scope'] },
  ),
  Accounts: object({ accounts: { type: 'array', items: named('Account') } }),
  OneAccount: object({ accounts: one(named('Account')) }),
  OneClient: object({ accounts: one(named('ChangedClient')) }),
  ChangedClient: object(
    {
      name,
      kind: client,
      scope,
      grants,
      secret: {
        type: 'string',
        format: 'password',
        description: 'If it was made now. No other answer has it.',
      },
    },
    { required: ['name', 'kind', 'scope'] },
  ),
  NewUser: object({ name: newName, kind: user, scope, grants, password }, { required: ['name', 'password'] }),
  NewClient: object({ name: newName, kind: client, scope, grants, secret }, { required: ['name'] }),
  UserPatch: object({ name: sameName, kind: user, scope, grants: newGrants, password }, { required: [] }),
  ClientPatch: object(
    {
      name: sameName,
      kind: client,
      scope,
      grants: newGrants,
      secret,
      rotate: { type: 'boolean', const: true, description: 'Makes a new secret; not beside `secret`.' },
    },
    { required: [] },
  ),
  PasswordChange: {
    type: 'object',
    description: 'Other members are ignored.',
    properties: {
      password: { type: 'string', format: 'password', description: 'The current one.' },
      new_password: password,
    },
    required: ['password', 'new_password'],
  },
} as const satisfies Record<string, JsonSchema>
