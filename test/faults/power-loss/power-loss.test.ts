import '../../support/node-version.ts'
import { describePowerLoss } from './power-loss-tests.ts'

describePowerLoss({ store: 20, revocations: 20, documents: 20, hasLongControl: false })
