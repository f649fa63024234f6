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
for (const [i, { end, isWhole }] of outcomes.entries())
  if (!isWhole) console.log(`process ${i + 1} of ${SHARDS} ended before its tests did, with ${end}`)
const isSound = outcomes.every(({ end, isWhole }) => isWhole && end === 'exit code 0')
process.exitCode = isSound && sum(outcomes.map(({ output }) => countOf('tests', output))) > 0 ? 0 : 1

interface Outcome {
  output: string
  end: string
  /** Whether it printed a summary, which it does when its tests have ended. */
  isWhole: boolean
}

/** Prints the output of a shard once it has ended, so that outputs do not mix. */
async function runShard(number: number): Promise<Outcome> {
  const shard = join(import.meta.dirname, 'shard.ts')
  const child = spawn(process.execPath, [shard, `${number}/${SHARDS}`, pattern], {
    stdio: ['ignore', 'pipe', 'inherit'],
    // The totals are read from what it prints.
    env: { ...process.env, FORCE_COLOR: '0' },
  })
  const ended = once(child, 'close')
  const output = await text(child.stdout)
  process.stdout.write(output)
  const [code, signal] = await ended
  return { output, end: signal ?? `exit code ${code}`, isWhole: /^ℹ tests \d/m.test(output) }
}

function countOf(outcome: string, output: string): number {
  return Number(new RegExp(`^ℹ ${outcome} (\\d+)$`, 'm').exec(output)?.[1] ?? 0)
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
