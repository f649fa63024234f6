import '../../support/node-version.ts'
import '../../support/light-argon2.ts'
import { describeDamage } from './damage-tests.ts'

describeDamage({ offsets: 2, losses: 3, shifts: 2, wrongLines: 4, swaps: 10, eachSet: false })
