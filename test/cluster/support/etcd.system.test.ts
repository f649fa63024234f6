import '../../support/node-version.ts'
import { testEtcd } from './etcd-tests.ts'
import { systemEtcd } from './newer-etcd.ts'

testEtcd(systemEtcd)
