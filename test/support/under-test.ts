import type { Received } from './described.ts'

/** Base paths of the servers under test by their origins. */
const servers = new Map<string, string>()

/** From now on `checkAnswer` checks the answers of a server. @returns Ends that. */
export function expectDescribed(url: string): () => void {
  const { origin, pathname } = new URL(url)
  servers.set(origin, pathname === '/' ? '' : pathname)
  return () => servers.delete(origin)
}

/**
 * Checks an answer of a server under test as `assertDescribed` does; of any other server every answer is right.
 *
 * @param target As it was sent, with the base path.
 */
export async function checkAnswer(
  origin: string,
  method: string,
  target: string,
  answer: Received,
): Promise<void> {
  const basePath = servers.get(origin)
  if (basePath === undefined) return
  // Loaded late: most of it is the program, which not every test needs.
  const { assertDescribed } = await import('./described.ts')
  await assertDescribed(basePath, method, target, answer)
}
