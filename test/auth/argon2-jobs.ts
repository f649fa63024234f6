import type { TestContext } from 'node:test'
import { Worker } from 'node:worker_threads'

/** The argon2 computations that this process has handed to the thread for them. */
export interface Argon2Jobs {
  readonly started: number
  /** Most that the thread had at once. */
  readonly atOnceMax: number
}

/** Counts until the test ends. */
export function watchArgon2Jobs(t: TestContext): Argon2Jobs {
  const { postMessage, emit } = Worker.prototype
  const running = new Set<number>()
  const jobs = { started: 0, atOnceMax: 0 }
  t.mock.method(Worker.prototype, 'postMessage', function (this: Worker, message: unknown) {
    if (isJob(message)) {
      running.add(message.id)
      jobs.started += 1
      jobs.atOnceMax = Math.max(jobs.atOnceMax, running.size)
    }
    postMessage.call(this, message)
  })
  t.mock.method(Worker.prototype, 'emit', function (this: Worker, event: string, ...values: unknown[]) {
    const [answer] = values
    if (event === 'message' && isJob(answer)) running.delete(answer.id)
    return (emit as (...all: unknown[]) => boolean).call(this, event, ...values)
  })
  return jobs
}

/**
 * Keeps computations from the thread until the test ends.
 *
 * @returns Hands over those that were kept, and lets later ones pass.
 */
export function holdArgon2Jobs(t: TestContext): () => void {
  const { postMessage } = Worker.prototype
  const held: (() => void)[] = []
  const { mock } = t.mock.method(Worker.prototype, 'postMessage', function (this: Worker, message: unknown) {
    if (isJob(message)) held.push(() => postMessage.call(this, message))
    else postMessage.call(this, message)
  })
  const handOver = () => {
    mock.restore()
    for (const send of held.splice(0)) send()
  }
  t.after(handOver)
  return handOver
}

function isJob(message: unknown): message is { readonly id: number } {
  return typeof message === 'object' && message !== null && 'id' in message
}
