// Runs as its own process: asks for a URL over many connections, on each again as soon as the answer is there. By bare
// sockets, because a client with a parser would be slower than the server.
import { connect } from 'node:net'
import { formatRequest } from '../../support/raw-http.ts'

const { hostname, port, pathname } = new URL(process.argv[2] ?? '')
const request = formatRequest(`GET ${pathname}`)

for (let i = 0; i < Number(process.argv[3]); i += 1) {
  const socket = connect(Number(port), hostname, () => socket.write(request))
  let missing = 0
  socket.on('data', (piece: Buffer) => {
    if (missing === 0) missing = lengthOf(piece)
    missing -= piece.length
    if (missing === 0) socket.write(request)
  })
}

/** Bytes of an answer, by its head. */
function lengthOf(first: Buffer): number {
  const [head = ''] = first.toString('latin1').split('\r\n\r\n', 1)
  const length = Number(/^HTTP\/1\.1 200 .*^Content-Length: (\d+)$/ims.exec(head.replaceAll('\r', ''))?.[1])
  if (Number.isNaN(length)) throw new Error(`This is not the answer to wait for: ${head}`)
  return head.length + 4 + length
}
