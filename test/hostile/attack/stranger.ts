// Runs as its own process: a stranger without a credential, who makes Node itself work.
import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { formatRequest } from '../../support/raw-http.ts'

const REOPEN_PAUSE_MS = 20
const HEAD_PAUSE_MS = 50

interface Flood {
  /** Sent first; after HEAD_PAUSE_MS come the bytes. */
  readonly head?: string
  /** What each connection sends again and again, as far as the server reads it; empty: it only connects. */
  readonly bytes: string
  readonly connections?: number
  readonly isTls?: boolean
  readonly halfClose?: boolean
  /** Sends a byte in so many milliseconds. */
  readonly pieceMs?: number
}

const pipelined = 'GET / HTTP/1.1\r\nHost:a\r\n\r\n'.repeat(10_000)

const upgrade = { Connection: 'Upgrade', Upgrade: 'h2c' }
const tinyChunks = `${'1\r\na\r\n'.repeat(4_000)}0\r\n\r\n`

function chunkedPost(more: Record<string, string>): string {
  return formatRequest('POST /login', { 'Transfer-Encoding': 'chunked', ...more })
}

const floods: Record<string, Flood> = {
  'pipelined GET over 32 connections': { bytes: pipelined, connections: 32 },
  'pipelined GET': { bytes: pipelined },
  'pipelined GET over TLS': { bytes: pipelined, isTls: true },
  'TLS handshakes over 450 connections that reconnect': { bytes: '', connections: 450, isTls: true },
  HEAD: { bytes: formatRequest('HEAD /').repeat(1_000) },
  OPTIONS: { bytes: formatRequest('OPTIONS /').repeat(1_000) },
  'Expect: 100-continue': {
    bytes: formatRequest('POST /login', { Expect: '100-continue' }, '{}').repeat(1_000),
  },
  'upgrade requests': { bytes: formatRequest('GET /', upgrade) },
  'half-open sockets': { bytes: formatRequest('GET /'), halfClose: true },
  'fields by the thousand': {
    bytes: `GET / HTTP/1.1\r\nHost:a\r\n${'a:\r\n'.repeat(3_000)}\r\n`,
  },
  'header in single bytes': { bytes: `GET / HTTP/1.1\r\nHost:a\r\n${'a:\r\n'.repeat(150)}`, pieceMs: 1 },
  'chunks of one byte': { bytes: chunkedPost({}) + tinyChunks },
  'chunks of one byte, the head first': { head: chunkedPost({}), bytes: tinyChunks },
  'chunks of one byte with a request for an upgrade': { bytes: chunkedPost(upgrade) + tinyChunks },
  nothing: { bytes: '' },
  'TLS handshakes that stop half-way': { bytes: '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03' },
}

export const floodNames = Object.keys(floods)

/** Those whose figures are promised, wherever the stranger is. */
export const promisedFloods = floodNames.slice(0, 4)

/** Whether the server must speak TLS. */
export const isOverTls = (flood: string) => floods[flood]?.isTls === true || flood.startsWith('TLS')

const [name = '', port = '', localAddress = ''] = process.argv.slice(2)
const chosen = floods[name]
if (process.send !== undefined && chosen !== undefined) {
  process.once('disconnect', () => process.exit())
  for (let i = 0; i < (chosen.connections ?? 300); i += 1) open(chosen)
  process.send({ isReady: true })
}

function open(flood: Flood) {
  const { head, bytes, halfClose = false, pieceMs, isTls = false } = flood
  const to = { host: '127.0.0.1', port: Number(port), localAddress, allowHalfOpen: true }
  const socket = isTls ? connectTls({ ...to, rejectUnauthorized: false }) : connect(to)
  socket.on('error', () => {})
  const timer = pieceMs === undefined ? undefined : dribble(socket, bytes, pieceMs)
  const isReconnecting = isTls && bytes === ''
  socket.once('close', () => {
    clearInterval(timer)
    setTimeout(open, isReconnecting ? 0 : REOPEN_PAUSE_MS, flood)
  })
  if (isReconnecting) socket.once('secureConnect', () => socket.destroy())
  else if (halfClose) socket.end(bytes)
  else if (pieceMs === undefined && bytes !== '') {
    const more = () => {
      while (!socket.destroyed && socket.write(bytes, 'latin1'));
    }
    const begin = () => {
      socket.on('drain', more)
      more()
    }
    if (head === undefined) begin()
    else {
      socket.write(head)
      setTimeout(begin, HEAD_PAUSE_MS)
    }
  }
  if (halfClose || bytes.includes('Upgrade')) socket.resume()
  else socket.pause()
}

function dribble(socket: Socket, bytes: string, pieceMs: number): NodeJS.Timeout {
  let i = 0
  return setInterval(() => {
    if (i < bytes.length) socket.write(bytes[i++] ?? '')
  }, pieceMs)
}
