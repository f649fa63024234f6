import '../../support/node-version.ts'
import '../../support/light-argon2.ts'
import { describeSalvage } from './salvage-tests.ts'

const ALL = Number.POSITIVE_INFINITY

describeSalvage({ offsets: ALL, shifts: 400, lines: ALL })
