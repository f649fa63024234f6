// Runs the test files that match a pattern in a few processes, many files in each: a process for every file takes longer
// to start than most take to run.
import './node-version.ts'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'

/** Two a core on a small machine: tests wait for files and sockets, too. */
const SHARDS = 4

const [pattern = ''] = process.argv.slice(2)
const outcomes = await Promise.all(Array.from({ length: SHARDS }, (_, i) => runShard(i + 1)))
for (const outcome of ['tests', 'pass', 'fail', 'cancelled', 'skipped'])
  console.log(`${outcome} ${sum(outcomes.map(({ output }) => countOf(outcome, output)))}`)
// A shard without a summary has ended before its tests.
const isSound = outcomes.every(({ status, output }) => status === 0 && /^ℹ tests \d/m.test(output))
process.exitCode = isSound && sum(outcomes.map(({ output }) => countOf('tests', output))) > 0 ? 0 : 1

/** Prints the output of a shard once it has ended, so that outputs do not mix. */
async function runShard(number: number): Promise<{ status: number | null; output: string }> {
  const shard = join(import.meta.dirname, 'shard.ts')
  const child = spawn(process.execPath, [shard, `${number}/${SHARDS}`, pattern], {
    stdio: ['ignore', 'pipe', 'inherit'],
    // The totals are read from what it prints.
    env: { ...process.env, FORCE_COLOR: '0' },
  })
  const ended = once(child, 'close')
  const output = await text(child.stdout)
  process.stdout.write(output)
  const [status] = await ended
  return { status, output }
}

function countOf(outcome: string, output: string): number {
  return Number(new RegExp(`^ℹ ${outcome} (\\d+)$`, 'm').exec(output)?.[1] ?? 0)
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
