import { connect } from 'node:net'
import type { RawAnswer } from '../support/raw-http.ts'
import type { HostileRow } from './row.ts'

/** Longer than the server waits for the rest of a request: it answers 408 to a row that leaves it waiting. */
const PATIENCE_MS = 60_000

/** Its answer shows that both sides agree where the next request begins. */
const PROBE = 'GET /readyz HTTP/1.1\r\nHost: probe\r\n\r\n'
const PROBE_BODY = '{"status":"ready"}'

const BODILESS = new Set([204, 209, 304])

/** What came back on one connection. */
export interface Exchange {
  readonly answers: readonly RawAnswer[]
  /** How the connection ended. */
  readonly end: 'announced' | 'in step' | 'cut'
}

/**
 * Sends the bytes of a row and takes every answer until the server closes.
 *
 * After the expected number of answers, it sends a probe on the same connection. Either the server has announced
 * that it closes, or it answers the probe and nothing else.
 *
 * @throws {Error} for a byte outside an answer, an unannounced close, or a server that waits.
 */
export async function exchange(
  url: string,
  { bytes, allowed, isCut = false }: HostileRow,
): Promise<Exchange> {
  const received = await converse(url, Buffer.from(bytes, 'latin1'), (text) => {
    if (isCut) return ''
    return takeAnswers(text, bytes).answers.length >= allowed.length ? PROBE : undefined
  })
  const { answers, rest } = takeAnswers(received, bytes)
  if (rest !== '') throw new Error(`these bytes are no answer: ${JSON.stringify(rest.slice(0, 500))}`)
  if (isCut) return { answers, end: 'cut' }
  const last = answers.at(-1)
  if (last !== undefined && isClosing(last)) return { answers, end: 'announced' }
  if (last?.status !== 200 || last.body !== PROBE_BODY)
    throw new Error(`out of step: ${JSON.stringify(answers)}`)
  return { answers: answers.slice(0, -1), end: 'in step' }
}

function isClosing({ head }: RawAnswer): boolean {
  return /^connection: close$/im.test(head)
}

/**
 * Gives everything received until the server closes.
 *
 * @param next Gets everything received and returns the last bytes to send; undefined while more is to be received.
 */
function converse(
  url: string,
  bytes: Buffer,
  next: (received: string) => string | undefined,
): Promise<string> {
  const { hostname, port } = new URL(url)
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  let received = ''
  let isLastSent = false
  const sendLast = () => {
    const last = isLastSent ? undefined : next(received)
    if (last === undefined) return
    isLastSent = true
    socket.end(last, 'latin1')
  }
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true }, () => {
    socket.write(bytes)
    sendLast()
  })
  socket.setTimeout(PATIENCE_MS, () =>
    socket.destroy(new Error(`the server waits; so far ${JSON.stringify(received.slice(0, 500))}`)),
  )
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1')
    sendLast()
  })
  socket.on('end', () => socket.destroy())
  socket.on('error', reject)
  socket.on('close', () => resolve(received))
  return promise
}

/** The complete answers at the beginning, and the rest. */
function takeAnswers(received: string, request: string): { answers: RawAnswer[]; rest: string } {
  const answers: RawAnswer[] = []
  let rest = received
  for (;;) {
    const headEnd = rest.indexOf('\r\n\r\n')
    const status = Number(/^HTTP\/1\.1 (\d{3}) [\x20-\x7e]*\r\n/.exec(rest)?.[1])
    if (headEnd === -1 || Number.isNaN(status)) return { answers, rest }
    const head = rest.slice(0, headEnd)
    const isBodiless =
      status < 200 || BODILESS.has(status) || (answers.length === 0 && request.startsWith('HEAD '))
    const length = isBodiless ? 0 : Number(/^content-length: (\d+)$/im.exec(head)?.[1])
    if (Number.isNaN(length)) return { answers, rest }
    const body = rest.slice(headEnd + 4, headEnd + 4 + length)
    if (body.length < length) return { answers, rest }
    answers.push({ status, head, body })
    rest = rest.slice(headEnd + 4 + length)
  }
}
