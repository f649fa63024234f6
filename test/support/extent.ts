import { isFull } from './is-full.ts'

/** How much to try: a quick selection in `npm test` and `npm run test:system`, everything in `npm run test:faults`. */
export function extent<T>({ quick, full }: { readonly quick: T; readonly full: T }): T {
  return isFull ? full : quick
}
