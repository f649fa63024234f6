import { Agent, get, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { CONNECTIONS } from './load.ts'

/** What must be there. */
export interface Outcome {
  readonly name: string
  readonly username: string
}

/** @throws {Error} naming a record that is missing or not as expected. */
export async function checkWritten(
  url: string,
  headers: Readonly<Record<string, string>>,
  outcomes: readonly Outcome[],
): Promise<void> {
  const agent = new Agent({ keepAlive: true })
  // One iterator for all, so that each outcome is looked at once.
  const rest = outcomes.values()
  const lookAtRest = async () => {
    for (const outcome of rest) await check(outcome)
  }
  try {
    await Promise.all(Array.from({ length: CONNECTIONS }, lookAtRest))
  } finally {
    agent.destroy()
  }

  async function check({ name, username }: Outcome) {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    get(`${url}/configurations/${name}`, { agent, headers }, resolve).on('error', reject)
    const body = await text(await promise)
    if (!body.includes(`"name":"${name}"`) || !body.includes(`"username":"${username}"`)) {
      throw new Error(
        `An acknowledged write is lost: "${name}" should have username "${username}", but: ${body}`,
      )
    }
  }
}
