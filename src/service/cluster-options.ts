import { type OptionSpec, parseDuration, parseEtcdPrefix, parseEtcdUrls, parsePath } from './option-values.ts'

/** Where the records are, if they are in an etcd cluster. */
export const clusterOptionSpecs = {
  /** Undefined: in the data folder. */
  etcd: {
    flag: '--etcd',
    placeholder: 'URL',
    help: 'keep records and accounts in the etcd cluster that has this member; may be repeated',
    otherwise: 'in the data folder',
    isRepeatable: true,
    parse: parseEtcdUrls,
  },
  etcdPrefix: {
    flag: '--etcd-prefix',
    placeholder: 'PREFIX',
    help: 'what the keys in etcd begin with',
    default: '/connbook/',
    parse: parseEtcdPrefix,
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
