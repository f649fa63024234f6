// Import this before any file of src: they take argon2 and the thread for it from Node when they are loaded.
import crypto from 'node:crypto'
import { after, before } from 'node:test'
import workerThreads from 'node:worker_threads'
import type { Lifetime } from './temporary-folder.ts'

type Work = 'light' | 'full' | 'held'

const least = { memory: 8, passes: 1, parallelism: 1 }
const computeArgon2 = crypto.argon2
let work: Work = 'light'
/** What goes on when held work is released. */
const held: (() => void)[] = []

/**
 * From here on argon2 is cheap in this process, whatever cost a hash names: a first start hashes a password, and each
 * login checks one. For test files that are not about hashing; other files check the hashes themselves.
 */
crypto.argon2 = (algorithm, parameters, callback) => {
  if (work === 'full') return computeArgon2(algorithm, parameters, callback)
  computeArgon2(algorithm, { ...parameters, ...least }, (...result) => {
    whenReleased(() => callback(...result))
  })
}

/** The same for hashes that a thread computes. */
workerThreads.Worker = class extends workerThreads.Worker {
  override postMessage(message: unknown): void {
    const made = work === 'full' ? message : withLeastWork(message)
    whenReleased(() => super.postMessage(made))
  }
}

function whenReleased(goOn: () => void): void {
  if (work === 'held') held.push(goOn)
  else goOn()
}

/** No hash is done until the function that is returned is called, or the test ends. */
export function holdArgon2(t: Lifetime): () => void {
  work = 'held'
  const release = () => {
    work = 'light'
    for (const goOn of held.splice(0)) goOn()
  }
  t.after(release)
  return release
}

/** For a suite about hashing itself, in whatever process it runs. */
export function useFullArgon2(): void {
  before(() => {
    work = 'full'
  })
  after(() => {
    work = 'light'
  })
}

function withLeastWork(message: unknown): unknown {
  const isJob = typeof message === 'object' && message !== null && 'parameters' in message
  return isJob ? { ...message, parameters: { ...(message.parameters as object), ...least } } : message
}
