import '../../support/node-version.ts'
import '../../support/light-argon2.ts'
import { describeUnrecorded } from './unrecorded-tests.ts'

// Every byte of each file.
describeUnrecorded(Number.POSITIVE_INFINITY)
