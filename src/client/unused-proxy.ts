import { BlockList, isIP } from 'node:net'
import { type Endpoint, isOfThisMachine } from './endpoint.ts'

/**
 * Finds the variable by which curl and git would go to a server by a proxy. connbook goes by none, and says so only where
 * that may be why a server is not reached.
 *
 * @returns Its name; undefined if they would go there directly, too.
 * @see https://curl.se/docs/manpage.html#ENVIRONMENT
 */
export function findUnusedProxy(
  { at, isSecure }: Endpoint,
  environment: NodeJS.ProcessEnv,
): string | undefined {
  const own = isSecure ? 'https_proxy' : 'http_proxy'
  const found = [own, own.toUpperCase(), 'all_proxy', 'ALL_PROXY'].find((name) => environment[name])
  if (found === undefined || 'socketPath' in at || isOfThisMachine(at.hostname)) return undefined
  return isExcepted(at.hostname, environment.no_proxy || environment.NO_PROXY || '') ? undefined : found
}

/** @param list Hosts, domains and networks with commas or blanks between them, as `NO_PROXY` has them. */
function isExcepted(hostname: string, list: string): boolean {
  return list
    .toLowerCase()
    .split(/[\s,]+/)
    .some((entry) => {
      const domain = entry.replace(/^\*?\./, '')
      return (
        entry === '*' ||
        hostname === domain ||
        (domain !== '' && hostname.endsWith(`.${domain}`)) ||
        isIn(hostname, entry)
      )
    })
}

/** Whether an address is in a network, such as `192.0.2.0/24`. */
function isIn(address: string, network: string): boolean {
  const [, base = '', bits = ''] = /^(.+)\/(\d{1,3})$/.exec(network) ?? []
  const [version, other] = [isIP(address), isIP(base)]
  if (version === 0 || version !== other || Number(bits) > (version === 4 ? 32 : 128)) return false
  const family = version === 4 ? 'ipv4' : 'ipv6'
  const list = new BlockList()
  list.addSubnet(base, Number(bits), family)
  return list.check(address, family)
}
