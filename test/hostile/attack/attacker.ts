// Runs as its own process, so that an attack takes no time from the event loop that measures.
import { type AttackName, attacks, type Tally, type Target } from './attacks.ts'

const tally: Tally = {}

process.once('disconnect', () => process.exit())
process.once('message', async ({ name, target }: { name: AttackName; target: Target }) => {
  process.on('message', () => process.send?.({ tally }))
  await attacks[name](target, tally)
  process.send?.({ isReady: true })
})
