import '../../support/node-version.ts'
import { systemEtcd } from './newer-etcd.ts'
import { testSnapshots } from './snapshot-tests.ts'

testSnapshots(systemEtcd, 1)
