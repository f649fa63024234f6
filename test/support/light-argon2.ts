// Import this before any file of src: they take argon2 and the thread for it from Node when they are loaded.
import crypto from 'node:crypto'
import { after, before } from 'node:test'
import workerThreads from 'node:worker_threads'
import type { Lifetime } from './temporary-folder.ts'

type Work = 'light' | 'full' | 'slow'

const SLOW_MS = 40
const least = { memory: 8, passes: 1, parallelism: 1 }
const computeArgon2 = crypto.argon2
let work: Work = 'light'

/**
 * From here on argon2 is cheap in this process, whatever cost a hash names: a first start hashes a password, and each
 * login checks one. For test files that are not about hashing; other files check the hashes themselves.
 */
crypto.argon2 = (algorithm, parameters, callback) => {
  if (work === 'full') return computeArgon2(algorithm, parameters, callback)
  computeArgon2(algorithm, { ...parameters, ...least }, (...result) => {
    if (work === 'slow') setTimeout(callback, SLOW_MS, ...result)
    else callback(...result)
  })
}

/** The same for hashes that a thread computes. */
workerThreads.Worker = class extends workerThreads.Worker {
  override postMessage(message: unknown): void {
    const made = work === 'full' ? message : withLeastWork(message)
    if (work === 'slow') setTimeout(() => super.postMessage(made), SLOW_MS)
    else super.postMessage(made)
  }
}

/** Until the test ends, argon2 does its full work, or takes as long without doing it. */
export function setArgon2Work(t: Lifetime, until: Exclude<Work, 'light'>): void {
  work = until
  t.after(() => {
    work = 'light'
  })
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
