import { type OptionSpec, parseDuration, parsePath } from './option-values.ts'

/** Longest --etcd-prefix. */
const PREFIX_CHARACTERS_MAX = 200

/** Where the records are, if they are in an etcd cluster. */
export const clusterOptionSpecs = {
  /** Undefined: in the data folder. */
  etcd: {
    flag: '--etcd',
    placeholder: 'URL',
    help: 'keep records and accounts in the etcd cluster that has this member; may be repeated',
    otherwise: 'in the data folder',
    isRepeatable: true,
    parse: parseUrls,
  },
  etcdPrefix: {
    flag: '--etcd-prefix',
    placeholder: 'PREFIX',
    help: 'what the keys in etcd begin with',
    default: '/connbook/',
    parse: parsePrefix,
  },
  etcdCa: {
    flag: '--etcd-ca',
    placeholder: 'FILE',
    help: 'certificates (PEM) that vouch for etcd, instead of the well-known ones',
    parse: parsePath,
  },
  etcdCert: {
    flag: '--etcd-cert',
    placeholder: 'FILE',
    help: 'client certificate (PEM) for etcd',
    parse: parsePath,
  },
  etcdKey: {
    flag: '--etcd-key',
    placeholder: 'FILE',
    help: 'private key (PEM) of the client certificate; only its owner may read it (0600)',
    parse: parsePath,
  },
  etcdUser: {
    flag: '--etcd-user',
    placeholder: 'NAME',
    help: 'user of etcd',
  },
  etcdPasswordFile: {
    flag: '--etcd-password-file',
    placeholder: 'FILE',
    help: 'file with the password of the user of etcd; only its owner may read it (0600)',
    parse: parsePath,
  },
  etcdKeyFile: {
    flag: '--etcd-key-file',
    placeholder: 'FILE',
    help: 'file with 64 hex digits that seal the signing keys in etcd, the same on each node; only its owner may read it (0600)',
    parse: parsePath,
  },
  etcdPlain: {
    flag: '--etcd-plain',
    help: 'allow http: to an etcd on another machine, where others can read all that is sent',
    otherwise: 'off',
  },
  maxStalenessSeconds: {
    flag: '--max-staleness',
    placeholder: 'TIME',
    help: 'how long a node that is cut off from etcd answers reads',
    default: '60s',
    parse: parseDuration,
  },
} satisfies Record<string, OptionSpec>

/** The flags that name a cluster, for commands that work on one. */
export const clusterFlags = [
  'etcd',
  'etcdPrefix',
  'etcdCa',
  'etcdCert',
  'etcdKey',
  'etcdUser',
  'etcdPasswordFile',
  'etcdKeyFile',
  'etcdPlain',
] as const satisfies readonly (keyof typeof clusterOptionSpecs)[]

/** With commas between them. @returns Without a slash at the end. */
function parseUrls(text: string): string[] {
  return text.split(',').map((part) => {
    const url = /^https?:\/\/[^/?#@\\\s]+\/?$/i.test(part.trim()) ? URL.parse(part.trim()) : null
    if (url === null)
      throw new RangeError('the URL of a member for its clients, such as https://etcd1.example.net:2379')
    return url.origin
  })
}

/** Printable ASCII, so that what etcdctl and roles call it is plain. */
function parsePrefix(text: string): string {
  if (!/^\/(?:[\w.~-]+\/)+$/.test(text) || text.length > PREFIX_CHARACTERS_MAX)
    throw new RangeError('a path with a slash at both ends, such as /connbook/')
  return text
}
