import { deepEqual } from 'node:assert/strict'
import { Agent, get, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'

type Fields = [name: string, value: string][]

/** An answer as it came, but for the date. */
export interface FullAnswer {
  readonly status: number
  readonly fields: Fields
  readonly body: string
}

/** Asks as the load generator does, on a connection that is to be kept. */
export async function readAnswer(
  url: string,
  headers: Readonly<Record<string, string>>,
): Promise<FullAnswer> {
  const agent = new Agent({ keepAlive: true })
  try {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    get(url, { agent, headers }, resolve).on('error', reject)
    const response = await promise
    const { rawHeaders, statusCode = 0 } = response
    const fields = rawHeaders.flatMap((name, i): Fields => (i % 2 ? [] : [[name, rawHeaders[i + 1] ?? '']]))
    return {
      status: statusCode,
      fields: fields.filter(([name]) => name !== 'Date'),
      body: await text(response),
    }
  } finally {
    agent.destroy()
  }
}

/** @throws {AssertionError} when the server's answer differs from `expected` in one byte. */
export async function checkAnswer(url: string, expected: FullAnswer): Promise<void> {
  deepEqual(await readAnswer(url, {}), expected)
}
