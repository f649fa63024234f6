import '../support/node-version.ts'
import { describe, it } from 'node:test'
import { missingEtcd } from './support/etcd.ts'
import { readHttpTests, runHttpTests } from './support/http-suite.ts'

describe('all tests of HTTP', { skip: missingEtcd }, () => {
  it('hold for records in etcd, but for what has a name here', async (t) => {
    await runHttpTests(t, [...(await readHttpTests()).keys()], { passesMin: 500 })
  })
})
