import { hash } from 'node:crypto'
import { ACCOUNT_KNOWN_NETWORKS_MAX, KNOWN_NETWORK_MS, KNOWN_NETWORKS_MAX } from '../limits.ts'
import type { Clock } from './clock.ts'

/**
 * The networks from which each account has lately logged in. Attackers elsewhere must not keep the account out of these.
 * Only in memory: a restart forgets them, as it forgets failed attempts.
 */
export interface KnownNetworks {
  /** Remembers a login for KNOWN_NETWORK_MS. May forget the least recent network of this account, or of another. */
  add(account: string, network: string): void
  has(account: string, network: string): boolean
}

export function createKnownNetworks(clock: Pick<Clock, 'elapsed'>): KnownNetworks {
  /** By account and hashed network, the time of the last login; the least recent comes first in both. */
  const accounts = new Map<string, Map<string, number>>()
  let count = 0

  return {
    add(account, network) {
      const networks = accounts.get(account) ?? new Map<string, number>()
      accounts.delete(account)
      accounts.set(account, networks)
      const key = keyOf(account, network)
      if (!networks.delete(key)) count += 1
      networks.set(key, clock.elapsed())
      if (networks.size > ACCOUNT_KNOWN_NETWORKS_MAX) forgetOne(account)
      if (count > KNOWN_NETWORKS_MAX) {
        const [leastRecent = account] = accounts.keys()
        forgetOne(leastRecent)
      }
    },

    has(account, network) {
      const last = accounts.get(account)?.get(keyOf(account, network))
      return last !== undefined && clock.elapsed() - last < KNOWN_NETWORK_MS
    },
  }

  function forgetOne(account: string) {
    const networks = accounts.get(account)
    const [leastRecent = ''] = networks?.keys() ?? []
    if (networks?.delete(leastRecent)) count -= 1
    if (networks?.size === 0) accounts.delete(account)
  }
}

/** Hashed, so that a copy of the memory does not tell where people have been. */
function keyOf(account: string, network: string): string {
  return hash('sha256', `${account}\0${network}`, 'base64url')
}
