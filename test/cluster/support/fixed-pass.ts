import type { EtcdPass, PassSource } from '../../../src/cluster/gateway.ts'

/** A pass that is never renewed. */
export function fixedPass({ tls = {}, login }: Partial<EtcdPass>): PassSource {
  return { pass: { tls, login }, renew() {} }
}
