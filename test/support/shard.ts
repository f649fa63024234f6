// Runs its share of test files in this process: --shard=1/4 --timeout=60000 PATTERN…
import asyncHooks from 'node:async_hooks'
import { parseArgs } from 'node:util'

// Node's runner watches each promise, to know to which test a late error belongs. That takes a fifth of the time of all
// tests. Without it, such an error still fails the shard, and shows where it was thrown. It must be done before anything
// loads the runner.
const { createHook } = asyncHooks
asyncHooks.createHook = (options) => createHook({ ...options, trackPromises: false })

const { values, positionals } = parseArgs({
  options: { shard: { type: 'string', default: '1/1' }, timeout: { type: 'string', default: '60000' } },
  allowPositionals: true,
})
const [index = 1, total = 1] = values.shard.split('/').map(Number)
await import('./light-argon2.ts')
const [{ run }, { spec }] = await Promise.all([import('node:test'), import('node:test/reporters')])
const results = run({
  isolation: 'none',
  globPatterns: positionals,
  shard: { index, total },
  timeout: Number(values.timeout),
})
results.on('test:fail', () => {
  process.exitCode = 1
})
results.compose(spec).pipe(process.stdout)
