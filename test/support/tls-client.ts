import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import type { Lifetime } from './temporary-folder.ts'

/** Connects with any certificate; rejects if the handshake fails. */
export async function connectTls(
  t: Lifetime,
  url: string,
  options: ConnectionOptions = {},
): Promise<TLSSocket> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false, ...options })
  t.after(() => void socket.destroy())
  await once(socket, 'secureConnect')
  return socket
}

/** SHA-256 of the certificate that the server has shown. */
export function fingerprintOf(socket: TLSSocket): string {
  return socket.getPeerX509Certificate()?.fingerprint256 ?? assert.fail('no certificate')
}

/** SHA-256 of the certificate that the server shows to a new connection. */
export async function shownFingerprint(t: Lifetime, url: string): Promise<string> {
  const socket = await connectTls(t, url)
  const fingerprint = fingerprintOf(socket)
  socket.destroy()
  return fingerprint
}

/** Begins a login and waits until the server reads its body, so that the request is in flight. */
export async function beginLogin(socket: TLSSocket, body: string): Promise<void> {
  const head = ['POST /login HTTP/1.1', 'Host: a', 'Expect: 100-continue', `Content-Length: ${body.length}`]
  assert.match(await exchange(socket, `${head.join('\r\n')}\r\n\r\n`), /^HTTP\/1\.1 100 /)
}

/** Sends bytes on a connection that stays open, and gives what comes back first. */
export async function exchange(socket: TLSSocket, bytes: string): Promise<string> {
  socket.write(bytes)
  const [chunk] = (await once(socket, 'data')) as [Buffer]
  return chunk.toString('latin1')
}
