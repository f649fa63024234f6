// Runs test files in a few processes, many files in each: a process for every file takes longer to start than most take
// to run. What follows on the command line is handed to each.
import './node-version.ts'
import { spawn } from 'node:child_process'
import { readFileSync, statfsSync } from 'node:fs'
import { freemem } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'

/** Two a core on a small machine: tests wait for disks and sockets, too. */
const SHARDS = Number(process.env.CONNBOOK_TEST_SHARDS ?? 4)

/** Far more than the files of all tests take at once. */
const MEMORY_BYTES_MIN = 2 * 1024 ** 3
const temporary = process.env.TMPDIR ?? findMemory()

const outcomes = await Promise.all(Array.from({ length: SHARDS }, (_, i) => runShard(i + 1)))
for (const outcome of ['tests', 'pass', 'fail', 'cancelled', 'skipped'])
  console.log(`${outcome} ${sum(outcomes.map(({ output }) => countOf(outcome, output)))}`)
// A shard without a summary has ended before its tests.
const isSound = outcomes.every(({ status, output }) => status === 0 && /^ℹ tests \d/m.test(output))
process.exitCode = isSound && sum(outcomes.map(({ output }) => countOf('tests', output))) > 0 ? 0 : 1

/** Prints the output of a shard once it has ended, so that outputs do not mix. */
async function runShard(number: number): Promise<{ status: number | null; output: string }> {
  const shard = [join(import.meta.dirname, 'shard.ts'), `--shard=${number}/${SHARDS}`]
  const child = spawn(process.execPath, [...shard, ...process.argv.slice(2)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    // The totals are read from what it prints.
    env: { ...process.env, ...(temporary && { TMPDIR: temporary }), FORCE_COLOR: '0' },
  })
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const output = await text(child.stdout)
  process.stdout.write(output)
  return { status: await ended, output }
}

/**
 * The folder in memory, for temporary files: on a disk the tests wait for thousands of syncs. Undefined where it is
 * small or no program may run from it, as in many containers.
 */
function findMemory(): string | undefined {
  try {
    const mount = /^\S+ \/dev\/shm tmpfs (\S+)/m.exec(readFileSync('/proc/mounts', 'utf8'))
    if (mount === null || mount[1]?.split(',').includes('noexec')) return undefined
    const { bavail, bsize } = statfsSync('/dev/shm')
    return Math.min(bavail * bsize, freemem()) < MEMORY_BYTES_MIN ? undefined : '/dev/shm'
  } catch {
    return undefined
  }
}

function countOf(outcome: string, output: string): number {
  return Number(new RegExp(`^ℹ ${outcome} (\\d+)$`, 'm').exec(output)?.[1] ?? 0)
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
