import type { TestContext } from 'node:test'

/**
 * Lets the elapsed time of this process jump ahead, until the test ends: what was some time ago is then so much longer ago.
 * Pauses and time-outs last as long as before.
 */
export function jumpAhead(t: TestContext, ms: number): void {
  const now = performance.now.bind(performance)
  t.mock.method(performance, 'now', () => now() + ms)
}
