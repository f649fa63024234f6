/** A label that stands for a keyword of ssh_config(5). */
interface SshLabel {
  readonly key: string
  readonly keyword: string
  /** The same on the command line of ssh. */
  readonly option: string
  /** Whether ssh wants the value without quotes; then it never needs any. */
  readonly isBare: boolean
  /** Makes the label's value of a file's. */
  readonly fromFile?: (value: string) => string
  /** Why no file may have the value, to complete "a value that …". */
  fault(value: string): string | undefined
}

/** Such a hop needs no quotes, which ssh 9.2 would keep, and nothing can follow it. */
const HOP = /^(?:[A-Za-z0-9_][\w.-]*@)?(?:[A-Za-z0-9_][\w.-]*|\[[0-9A-Fa-f:.]+\])(?::(?<port>[1-9]\d{0,4}))?$/

/** A hop as a URI; ssh takes one with a slash at its end, too. */
const HOP_URI = /^ssh:\/\/([^/]*)\/?$/

const PORT_MAX = 65_535

export const sshLabels: readonly SshLabel[] = [
  {
    key: 'ssh.proxyjump',
    keyword: 'ProxyJump',
    option: '-J',
    isBare: true,
    fromFile: plainJump,
    fault: faultOfJump,
  },
  { key: 'ssh.identityfile', keyword: 'IdentityFile', option: '-i', isBare: false, fault: faultOfPath },
]

function plainJump(value: string): string {
  return value
    .split(',')
    .map((hop) => hop.replace(HOP_URI, '$1'))
    .join(',')
}

function faultOfJump(value: string): string | undefined {
  const isGood = value.split(',').every((hop) => {
    const match = HOP.exec(hop)
    return match !== null && Number(match.groups?.port ?? 1) <= PORT_MAX
  })
  return isGood ? undefined : 'is not [USER@]HOST[:PORT], or several with commas between them'
}

function faultOfPath(value: string): string | undefined {
  if (value === '') return 'is empty'
  return /%|\$\{/.test(value) ? 'holds "%" or "${", which ssh may expand' : undefined
}
