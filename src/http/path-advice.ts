import { decodePercent } from './form.ts'
import type { Router } from './router.ts'

/** More than any route has. */
const SEGMENTS_MAX = 8

/** Ends "There is nothing at this path": what is probably wrong; empty when nothing comes to mind. */
export function adviseOnPath(router: Router, path: string): string {
  const single = path.replaceAll(/\/{2,}/g, '/')
  if (single !== path && isKnown(router, single)) return '; two slashes follow each other: write one'
  if (isKnown(router, single.slice(0, -1)) && single.endsWith('/'))
    return '; it ends in a slash too many: leave it out, or write it %2F if the name ends in it'
  const decoded = decodePercent(single) ?? single
  if (decoded !== single && isKnown(router, decoded))
    return '; percent-encode only names, not the rest of a path'
  if (isBelowParameter(router, single)) return '; a slash in a name is written %2F'
  return ''
}

/** Whether a parameter takes an earlier segment, so that the rest may have been meant as part of it. */
function isBelowParameter(router: Router, path: string): boolean {
  let end = 0
  for (let segments = 0; segments < SEGMENTS_MAX; segments++) {
    end = path.indexOf('/', end + 1)
    if (end === -1) return false
    const match = router.match('GET', path.slice(0, end))
    if (match !== undefined && match !== 'malformed' && match.pattern.includes('/:')) return true
  }
  return false
}

function isKnown(router: Router, path: string): boolean {
  const match = router.match('GET', path)
  return match !== undefined && match !== 'malformed'
}
