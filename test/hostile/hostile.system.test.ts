import '../support/node-version.ts'
import { join } from 'node:path'
import { after, describe } from 'node:test'
import { bundleProgram } from '../support/bundled-program.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { describeHostileInput } from './hostile-tests.ts'

/** Many rows guess at unknown accounts; each guess costs the server a hash. */
const lightArgon2 = join(import.meta.dirname, '../support/light-argon2.cjs')

describe('hostile input', async () => {
  await describeHostileInput(
    await bundleProgram(await temporaryFolder({ after }), { preloaded: lightArgon2 }),
  )
})
