import '../support/node-version.ts'
import { testGateway } from './support/gateway-tests.ts'
import { systemEtcd } from './support/newer-etcd.ts'

testGateway(systemEtcd)
