import '../support/node-version.ts'
import { describe } from 'node:test'
import { executable } from '../support/executable.ts'
import { describeHostileInput } from './hostile-tests.ts'

describe('hostile input to the executable', () => describeHostileInput([executable]))
