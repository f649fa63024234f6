import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { missingEtcd } from './support/etcd.ts'
import { leftOut, readHttpTests, runHttpTests } from './support/http-suite.ts'

/** The least tests that show whether a cluster answers as a folder does. */
const FEW = /^account-|^accounts|^configuration|^events|^history/

describe('the tests of HTTP in short', () => {
  // As long as that of many tests.
  const options = { skip: missingEtcd, timeout: 1_800_000 }
  it('hold for records in etcd, but for what has a name here', options, async (t) => {
    const names = [...(await readHttpTests()).keys()].filter((name) => FEW.test(name))
    await runHttpTests(t, names, { passesMin: 100 })
  })

  it('leave out only what there is', async () => {
    const texts = [...(await readHttpTests()).values()]
    for (const name of Object.values(leftOut).flat())
      assert.ok(
        texts.some((text) => text.includes(`it('${name}'`)),
        name,
      )
  })
})
