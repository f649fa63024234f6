import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'

/** An answer as it came over the socket. */
export interface RawAnswer {
  readonly status: number
  readonly head: string
  readonly body: string
}

/**
 * Sends bytes unchanged, over TLS for an https address, and returns everything received until the server closes or
 * `until`, which gets all of it and its last piece, returns true.
 *
 * @param halfClose Whether to close the sending side after the bytes.
 */
export function sendRaw(
  url: string,
  bytes: string | Uint8Array,
  {
    until = () => false,
    halfClose = false,
  }: { until?: (received: string, lastPiece: string) => boolean; halfClose?: boolean } = {},
): Promise<string> {
  const { protocol, hostname, port } = new URL(url)
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  let received = ''
  const options = { host: hostname, port: Number(port), allowHalfOpen: true }
  const begin = () => {
    socket.write(bytes)
    if (halfClose) socket.end()
  }
  const isTls = protocol === 'https:'
  const socket = isTls
    ? connectTls({ ...options, rejectUnauthorized: false }, begin)
    : connect(options, begin)
  socket.setTimeout(30_000, () => socket.destroy(new Error(`no end after ${JSON.stringify(received)}`)))
  socket.on('data', (chunk) => {
    const piece = chunk.toString('latin1')
    received += piece
    if (until(received, piece)) socket.destroy()
  })
  socket.on('end', () => socket.destroy())
  socket.on('error', reject)
  socket.on('close', () => resolve(received))
  return promise
}

/** Splits consecutive answers; each must have a Content-Length or no body. */
export function parseAnswers(received: string): RawAnswer[] {
  const answers: RawAnswer[] = []
  for (let rest = received; rest !== ''; ) {
    const headEnd = rest.indexOf('\r\n\r\n')
    const status = /^HTTP\/1\.1 (\d{3}) /.exec(rest)?.[1]
    if (headEnd === -1 || status === undefined) throw new Error(`this is no answer: ${JSON.stringify(rest)}`)
    const head = rest.slice(0, headEnd)
    const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0)
    answers.push({ status: Number(status), head, body: rest.slice(headEnd + 4, headEnd + 4 + length) })
    rest = rest.slice(headEnd + 4 + length)
  }
  return answers
}

/** A request as bytes on the wire, in Latin-1; `Host` and the length of a body are added. */
export function formatRequest(
  line: string,
  headers: Readonly<Record<string, string>> = {},
  body?: string,
): string {
  const length =
    body === undefined || 'Transfer-Encoding' in headers ? {} : { 'Content-Length': String(body.length) }
  const fields = Object.entries({ Host: 'a', ...length, ...headers })
  return `${line} HTTP/1.1\r\n${fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body ?? ''}`
}
