// Runs the test files that match a pattern, or of those the ones with one of the given words in their path: all tests of
// all these files, whichever fail.
import './node-version.ts'
import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'

/** Stops a test that hangs; it judges none. */
const TEST_MS_MAX = 1_200_000

const [pattern = '', ...words] = process.argv.slice(2)
const files = globSync(pattern)
  .filter((path) => words.length === 0 || words.some((word) => path.includes(word)))
  .sort()
if (files.length === 0) {
  console.error(`No file of ${pattern} has ${words.map((word) => `"${word}"`).join(' or ')} in its path`)
  process.exit(2)
}
const seed = process.env.CONNBOOK_TEST_SEED ?? String(Date.now() % 2 ** 31)
const began = performance.now()
console.log([`Running ${files.length} files, seed ${seed}:`, ...files].join('\n  '))
// One at a time: some measure how long others wait.
const flags = ['--test', '--test-concurrency=1', `--test-timeout=${TEST_MS_MAX}`]
const { status } = spawnSync(process.execPath, [...flags, ...files], {
  stdio: 'inherit',
  env: { ...process.env, CONNBOOK_TEST_SEED: seed },
})
const minutes = ((performance.now() - began) / 60_000).toFixed(1)
const again = [
  `CONNBOOK_TEST_SEED=${seed}`,
  'npm run test:faults',
  ...(words.length > 0 ? ['--', ...words] : []),
]
console.log(
  `${status === 0 ? 'All held' : 'Some failed'}, after ${minutes} minutes; again: ${again.join(' ')}`,
)
process.exitCode = status ?? 1
