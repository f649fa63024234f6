import type { Sort } from '../../../src/store/configuration-index.ts'
import { fieldNames } from '../../../src/store/fields.ts'
import { fieldsOf } from '../../bench/data-folders.ts'
import { createClient } from '../../support/http-client.ts'
import type { Tally, Target } from './attacks.ts'

const sorts: readonly Sort[] = fieldNames.flatMap((field) => [field, `-${field}`] as const)

/** Replaces all records by as many others, again and again, with every order in use. */
export async function replaceAll(target: Target, tally: Tally): Promise<void> {
  const ask = clientOf(target, tally)
  const bodies = ['record', 'other'].map((prefix) => bodyOf(prefix, target.records))
  await Promise.all(sorts.map((sort) => ask('order', 'GET', pageBy(sort))))
  void (async () => {
    for (let turn = 1; ; turn += 1) {
      await ask('import', 'POST', '/v1/import?mode=replace&format=json', bodies[turn % bodies.length])
      await Promise.all(sorts.map((sort) => ask('order', 'GET', pageBy(sort))))
    }
  })()
}

/** Asks for a page in every order at once: the first use of each. */
export async function useAllOrders(target: Target, tally: Tally): Promise<void> {
  const ask = clientOf(target, tally)
  for (const sort of sorts) void ask('order', 'GET', pageBy(sort))
}

function clientOf({ host, port, bearer }: Target, tally: Tally) {
  const client = createClient(`http://${host}:${port}`, { Authorization: bearer })
  return async (what: string, method: string, path: string, body?: string) => {
    const answer = await client(method, path, body === undefined ? {} : { body }).catch(() => undefined)
    const outcome = `${what} ${answer?.status ?? 'failed'}`
    tally[outcome] = (tally[outcome] ?? 0) + 1
  }
}

function pageBy(sort: Sort): string {
  return `/configurations/?sort=${sort}&page=0&per_page=20`
}

/** The names begin with the prefix, but for `record-1`, which others read. */
function bodyOf(prefix: string, records: number): string {
  const rows = Array.from({ length: records }, (_, i) => {
    const fields = fieldsOf(i + 1)
    return i === 0 ? fields : { ...fields, name: `${prefix}-${i + 1}` }
  })
  return JSON.stringify(rows)
}
