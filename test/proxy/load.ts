import { Agent } from 'node:https'
import { type Answer, type Ask, createClient, type Headers } from '../support/http-client.ts'
import type { Lifetime } from '../support/temporary-folder.ts'

/** Clients that each have one connection and keep it. */
export function keepConnections(t: Lifetime, url: string, headers: Headers, count: number): Ask[] {
  return Array.from({ length: count }, () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    t.after(() => agent.destroy())
    return createClient(url, headers, { agent })
  })
}

/** The number of each outcome: a status, or the code of the error that broke the connection. */
export class Outcomes {
  readonly counts: Record<string, number> = {}

  /** Waits for an answer, counts it, and gives its outcome. */
  async add(answer: Promise<Answer>): Promise<string> {
    const outcome = await answer.then(
      ({ status }) => String(status),
      (error: NodeJS.ErrnoException) => error.code ?? String(error),
    )
    this.counts[outcome] = (this.counts[outcome] ?? 0) + 1
    return outcome
  }
}
