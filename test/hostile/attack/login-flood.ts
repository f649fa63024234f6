// Runs as its own process: strangers in many networks who log in with made-up names, again and again.
import { Agent, request } from 'node:http'

const [port = '', connections = '', ...addresses] = process.argv.slice(2)
const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY })
let turn = 0
const tally: Record<string, number> = {}

if (process.send !== undefined) {
  process.once('disconnect', () => process.exit())
  process.on('message', () => process.send?.(tally))
  for (const address of addresses) for (let i = 0; i < Number(connections); i += 1) logIn(address)
  process.send(tally)
}

/** A new name each time: the throttle would stop guesses at one account. */
function logIn(address: string) {
  const headers = { 'X-Forwarded-For': address, 'Content-Type': 'application/json' }
  const outgoing = request({ host: '127.0.0.1', port, method: 'POST', path: '/login', agent, headers })
  outgoing.on('error', () => logIn(address))
  outgoing.on('response', (incoming) => {
    tally[incoming.statusCode ?? 0] = (tally[incoming.statusCode ?? 0] ?? 0) + 1
    incoming.resume().once('end', () => logIn(address))
  })
  outgoing.end(JSON.stringify({ username: `stranger-${turn++}`, password: 'a guess' }))
}
