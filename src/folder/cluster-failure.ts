import { DamagedKeyError } from '../storage/etcd/cluster-error.ts'
import { EtcdError } from '../storage/etcd/etcd-error.ts'

/** In what way a cluster could not be used; undefined for other errors. */
export function clusterFailureOf(error: unknown): 'not_let_in' | 'not_reached' | 'damaged' | undefined {
  if (error instanceof DamagedKeyError) return 'damaged'
  if (!(error instanceof EtcdError)) return undefined
  const { reason } = error
  const isLogin = reason === 'denied' || reason === 'login_failed' || reason === 'common_name'
  return isLogin ? 'not_let_in' : 'not_reached'
}
