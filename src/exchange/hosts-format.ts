import { isIP } from 'node:net'
import type { ExportFormat } from './export-format.ts'
import { lookupAddress } from './lookup-address.ts'

/** What the resolver of the C library takes for the name of a host (`res_hnok`). */
const HOST_NAME = /^(?=.{1,253}$)\w(?:[\w-]{0,61}\w)?(?:\.\w(?:[\w-]{0,61}\w)?)*$/
/** Where it is all of a name, the C library takes it for an IPv4 address, in base 8, 10 or 16 (inet_aton(3)). */
const ADDRESS_END = /(?:^|\.)(?:\d+|0x[\da-f]*)$/i

/** Lines for `/etc/hosts` (hosts(5)), of the records whose hostname is an address. */
export const hostsFormat: ExportFormat = {
  mediaType: 'text/plain; charset=utf-8',
  fileName: 'hosts',
  isMeant: ({ hostname }) => isIP(lookupAddress(hostname)) !== 0,
  encode: ({ name, hostname }) => `${lookupAddress(hostname)} ${name}\n`,
  obstacle({ name, hostname }) {
    if (hostname.includes('%')) return 'has an address with a zone, which a hosts file cannot have'
    if (!HOST_NAME.test(name)) return 'has a name that is not the name of a host'
    if (ADDRESS_END.test(name)) return 'has a name that ends like an address'
    const lower = name.toLowerCase()
    if (lower === 'localhost' || lower.endsWith('.localhost') || lower.startsWith('ip6-'))
      return 'has a name that each machine has for itself'
    return undefined
  },
  keyOf: ({ name }) => name.toLowerCase(),
}
