import { byteRows } from './corpus/bytes.ts'
import { conditionRows } from './corpus/conditions.ts'
import { consoleRows } from './corpus/console.ts'
import { cookieRows } from './corpus/cookies.ts'
import { crossSiteRows } from './corpus/cross-site.ts'
import { fieldRows } from './corpus/fields.ts'
import { framingRows } from './corpus/framing.ts'
import { headerRows } from './corpus/headers.ts'
import { jsonRows } from './corpus/json.ts'
import { labelRows } from './corpus/labels.ts'
import { loginRows } from './corpus/logins.ts'
import { mediaTypeRows } from './corpus/media-types.ts'
import { ownAccountRows } from './corpus/own-account.ts'
import { pathRows } from './corpus/paths.ts'
import { queryRows } from './corpus/queries.ts'
import { requestLineRows } from './corpus/request-line.ts'
import { tokenRequestRows } from './corpus/token-requests.ts'
import { tokenRows } from './corpus/tokens.ts'
import type { HostileRow, Loot } from './row.ts'

const groups: Readonly<Record<string, (loot: Loot) => HostileRow[]>> = {
  'request line': requestLineRows,
  headers: headerRows,
  framing: framingRows,
  paths: pathRows,
  queries: queryRows,
  'media types': mediaTypeRows,
  bytes: byteRows,
  JSON: jsonRows,
  fields: fieldRows,
  labels: labelRows,
  logins: loginRows,
  'token requests': tokenRequestRows,
  tokens: tokenRows,
  'own account': ownAccountRows,
  cookies: cookieRows,
  'cross-site requests': crossSiteRows,
  conditions: conditionRows,
  console: consoleRows,
}

export interface Group {
  /** What its rows attack. */
  readonly name: string
  readonly rows: readonly HostileRow[]
}

/** Every row; its name fits a line and is the same in each run. */
export function makeCorpus(loot: Loot): Group[] {
  return Object.entries(groups).map(([name, makeRows]) => ({
    name,
    rows: makeRows(loot).map((row) => ({ ...row, name: shorten(mask(row.name, loot)) })),
  }))
}

function mask(text: string, { bearer, cookie, user, client, etag }: Loot): string {
  return text
    .replaceAll(bearer.slice('Bearer '.length), 'TOKEN')
    .replaceAll(cookie.slice(cookie.indexOf('=') + 1), 'SESSION')
    .replaceAll(etag.slice(1, -1), 'TAG')
    .replaceAll(btoa(`${client.client_id}:${client.client_secret}`), 'CLIENT')
    .replaceAll(btoa(`${user.username}:${user.password}`), 'USER')
    .replaceAll(client.client_secret, 'SECRET')
    .replaceAll(user.password, 'PASSWORD')
}

function shorten(text: string): string {
  const shown = JSON.stringify(text).slice(1, -1)
  return shown.length <= 90 ? shown : `${shown.slice(0, 40)}…${shown.slice(-40)} (${text.length})`
}
