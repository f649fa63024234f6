// The callers of the scheduler inside the store. Each has turns of its own, so none waits for the end of another.
import { FOR_ALL } from '../scheduler.ts'

/** Plans, encodes and applies a large import, for which all other changes wait. */
export const CHANGES = FOR_ALL
/** Makes orders, for which lists wait. */
export const ORDERS = 'orders'
/** Plans imports that are only tried. */
export const TRIALS = 'trials'
