import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setPriority } from 'node:os'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { AttackName, Tally, Target } from './attacks.ts'

/** As for `nice`. */
const ATTACKER_PRIORITY = 10

const entry = fileURLToPath(new URL('attacker.ts', import.meta.url))

export interface RunningAttack {
  /** The tally so far. */
  tally(): Promise<Tally>
  /** Ends it and all its connections at once; returns its tally. */
  stop(): Promise<Tally>
}

/** Starts an attack in its own process and waits until it is at full strength; it ends with the test. */
export async function startAttack(t: TestContext, name: AttackName, target: Target): Promise<RunningAttack> {
  const child = fork(entry)
  // An attacker has a machine of its own: it must not take the processor from the server and its clients.
  if (child.pid !== undefined) setPriority(child.pid, ATTACKER_PRIORITY)
  t.after(() => child.kill('SIGKILL'))
  const exited = once(child, 'exit')
  const failed = exited.then(() => assert.fail(`the attack ${name} ended by itself`))
  failed.catch(() => {})
  // Not as an argument: what it sends may be long.
  child.send({ name, target })
  const told = () => Promise.race([once(child, 'message') as Promise<[{ tally?: Tally }]>, failed])
  await told()
  const tally = async () => {
    const answer = told()
    child.send('tally')
    return (await answer)[0].tally ?? {}
  }
  return {
    tally,
    async stop() {
      const last = await tally()
      child.kill('SIGKILL')
      await exited
      return last
    },
  }
}
