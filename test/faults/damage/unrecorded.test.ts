import '../../support/node-version.ts'
import '../../support/light-argon2.ts'
import { describeUnrecorded } from './unrecorded-tests.ts'

describeUnrecorded(5)
