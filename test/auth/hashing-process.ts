// Computes argon2 hashes as a server does, prints how much memory they took, and ends once that is given back. A process
// of its own: the memory of other tests would count, too. Its arguments: how many hashes, and the MiB that may stay.
import '../support/node-version.ts'
import { createArgon2Worker } from '../../src/auth/argon2-worker.ts'
import { memoryOf } from '../bench/memory.ts'
import { eventually } from '../support/eventually.ts'
import { hasThread } from '../support/threads.ts'

const QUIET_MS = 100
const AT_ONCE = 16

const [count = 0, left = 0] = process.argv.slice(2).map(Number)
const { compute } = createArgon2Worker({ quietMs: QUIET_MS })
const nonce = Buffer.alloc(16)
const before = inUse()
let most = before
let next = 0

async function work() {
  while (next < count) {
    const message = `password ${next++}`
    await compute({ message, nonce, memory: 19_456, passes: 1, parallelism: 1, tagLength: 32 })
    most = Math.max(most, inUse())
  }
}

await Promise.all(Array.from({ length: AT_ONCE }, work))
await eventually('the thread has ended', () => !hasThread(process.pid, 'argon2'))
await eventually(`at most ${left} MiB stay in use`, () => inUse() - before <= left)
console.log((most - before).toFixed(1))

/** MiB that belong to no file. */
function inUse(): number {
  return memoryOf(process.pid).anonymous
}
