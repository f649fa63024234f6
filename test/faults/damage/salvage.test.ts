import '../../support/node-version.ts'
import '../../support/light-argon2.ts'
import { describeSalvage } from './salvage-tests.ts'

describeSalvage({ offsets: 10, shifts: 10, lines: 10 })
