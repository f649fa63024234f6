import { hash } from 'node:crypto'
import type { Access } from '../store/access.ts'
import type { Filter } from '../store/record-filter.ts'

/**
 * A short text, the same for equal filters of those who see the same: filters may be long, and there may be many of them.
 *
 * @param filter As it was asked for, or within `access`.
 */
export function keyOfFilter(filter: Filter, access?: Access): string {
  return hash('sha256', `${access?.key ?? ''} ${JSON.stringify(filter)}`, 'base64url')
}
