import '../../support/node-version.ts'
import { describePowerLoss } from './power-loss-tests.ts'

describePowerLoss({ store: 2_000, revocations: 1_500, documents: 1_500, hasLongControl: true })
