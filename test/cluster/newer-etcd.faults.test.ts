import '../support/node-version.ts'
import { after } from 'node:test'
import { testEtcd } from './support/etcd-tests.ts'
import { testGateway } from './support/gateway-tests.ts'
import { etcd35, systemEtcd } from './support/newer-etcd.ts'
import { testSnapshots } from './support/snapshot-tests.ts'

const newer = await etcd35({ after })
testEtcd(newer)
testGateway(newer)
for (const version of [systemEtcd, newer]) testSnapshots(version, 3)
