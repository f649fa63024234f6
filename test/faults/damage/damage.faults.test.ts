import '../../support/node-version.ts'
import '../../support/light-argon2.ts'
import { describeDamage } from './damage-tests.ts'

const ALL = Number.POSITIVE_INFINITY
/** So many of each file; each run takes others. */
const OFFSETS = 800

describeDamage({ offsets: OFFSETS, losses: ALL, shifts: 40, wrongLines: ALL, swaps: ALL, eachSet: true })
