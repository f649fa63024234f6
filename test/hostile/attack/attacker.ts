// Runs as its own process, so that an attack takes no time from the event loop that measures.
import { type AttackName, attacks, type Tally, type Target } from './attacks.ts'

const { name, target } = JSON.parse(process.argv[2] ?? '') as { name: AttackName; target: Target }
const tally: Tally = {}

process.on('message', () => process.send?.({ tally }))
process.once('disconnect', () => process.exit())
await attacks[name](target, tally)
process.send?.({ isReady: true })
