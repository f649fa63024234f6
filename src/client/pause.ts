import { setTimeout } from 'node:timers/promises'

/** Waits. @param signal Ends it early, which is not an error. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, signal === undefined ? {} : { signal }).catch(() => {})
}
