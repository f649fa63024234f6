import { ConnbookError } from '../errors.ts'
import type { Client } from './client.ts'
import { listPath } from './endpoint.ts'
import { openList } from './record-stream.ts'

/** All names of a longer list are too many to read for a message. */
const ALL_NAMES_MAX = 10_000
/** Names with the same beginning that are read of a longer list. */
const SOME_NAMES_MAX = 100

/**
 * Names that may have been meant by one that is not there: all of a server or, of very many, some that begin like it. None if
 * the server does not say.
 */
export async function readNamesLike(client: Client, name: string): Promise<readonly string[]> {
  try {
    const page = await client.ask({ method: 'GET', path: listPath({ page: 0, per_page: 1 }) })
    const count = Number(page.headers['x-total-count'] ?? Number.POSITIVE_INFINITY)
    const prefix = name.slice(0, Math.ceil(name.length / 2))
    const path = listPath(count <= ALL_NAMES_MAX ? {} : { prefix, page: 0, per_page: SOME_NAMES_MAX })
    const names: string[] = []
    const { pieces } = await openList(client, path)
    for await (const piece of pieces) names.push(...piece.map(({ record }) => record.name))
    return names
  } catch (error) {
    // What was asked for first has failed, and that is what is said.
    if (error instanceof ConnbookError) return []
    throw error
  }
}
