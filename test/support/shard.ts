// Runs its share of test files in this process: node shard.ts 1/4 PATTERN
import asyncHooks from 'node:async_hooks'

// Node's runner watches each promise, to know to which test a late error belongs. That takes a fifth of the time of all
// tests. Without it, such an error still fails the shard, and shows where it was thrown. It must be done before anything
// loads the runner.
const { createHook } = asyncHooks
asyncHooks.createHook = (options) => createHook({ ...options, trackPromises: false })

/** Stops a test that hangs; it judges none. */
const TEST_MS_MAX = 900_000

const [share = '', pattern = ''] = process.argv.slice(2)
const [index = 1, total = 1] = share.split('/').map(Number)
await import('./unsynced.ts')
await import('./light-argon2.ts')
const [{ run }, { spec }] = await Promise.all([import('node:test'), import('node:test/reporters')])
const results = run({
  isolation: 'none',
  globPatterns: [pattern],
  shard: { index, total },
  timeout: TEST_MS_MAX,
})
results.on('test:fail', () => {
  process.exitCode = 1
})
results.compose(spec).pipe(process.stdout)
