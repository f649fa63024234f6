import { fieldsOf } from './data-folders.ts'
import type { SteadyRequest } from './steady-requests.ts'

/** Shares no factor with a power of ten, so that no record comes twice before all have come once. */
const STRIDE = 37

/** Steady writes, one in two an add and one in two a modification, each of another record. */
export function writeOf(index: number, records: number): SteadyRequest {
  const { name, username } = outcomeOf(index, records)
  if (index % 2 === 0)
    return { method: 'PATCH', path: `/configurations/${name}`, body: JSON.stringify({ username }) }
  return {
    method: 'POST',
    path: '/configurations/',
    body: JSON.stringify({ ...fieldsOf(index), name, username }),
  }
}

/** What must be there once a write is acknowledged. */
export function outcomeOf(index: number, records: number) {
  const name = index % 2 === 0 ? `record-${1 + ((index * STRIDE) % records)}` : `new-${index}`
  return { name, username: `writer-${index}` }
}
