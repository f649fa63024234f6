import type { KeyAdministration } from '../auth/key-administration.ts'
import { describeMoment } from '../auth/key-rotation.ts'
import type { StoredKey } from '../auth/keys.ts'
import { jsonReply, type Reply, type Request } from '../http/message.ts'
import { checkQuery, parseQuery } from './query.ts'
import { defineResource } from './resource.ts'

/** The keys that sign sessions and tokens; never their secrets. */
export const keys = defineResource({
  handlers: ({ keyAdministration }) => keysHandlers(keyAdministration),
  routes: [
    { method: 'GET', path: '/v1/keys', access: 'owner', limits: 'same', handler: 'list' },
    { method: 'POST', path: '/v1/keys/rotate', access: 'owner', limits: 'same', handler: 'rotate' },
    { method: 'POST', path: '/v1/keys/revoke-all', access: 'owner', limits: 'same', handler: 'revokeAll' },
  ],
})

export function keysHandlers(administration: KeyAdministration) {
  return { list, rotate, revokeAll }

  function list({ query }: Request): Reply {
    checkQuery(parseQuery(query, []))
    const shown = administration.list().map((key, i) => ({ ...shownKey(key), signs: i === 0 }))
    return jsonReply(200, { keys: shown })
  }

  async function rotate(request: Request): Promise<Reply> {
    checkQuery(parseQuery(request.query, []))
    const { signing, superseded } = await administration.rotate(request)
    return jsonReply(200, { key: shownKey(signing), superseded: shownKey(superseded) })
  }

  async function revokeAll(request: Request): Promise<Reply> {
    checkQuery(parseQuery(request.query, []))
    return jsonReply(200, { key: shownKey(await administration.revokeAll(request)) })
  }
}

/** Times are RFC 3339; keys of earlier versions lack `created`. */
function shownKey({ id, created, until }: StoredKey) {
  return {
    id,
    ...(created === undefined ? {} : { created: describeMoment(created) }),
    ...(until === undefined ? {} : { until: describeMoment(until) }),
  }
}
