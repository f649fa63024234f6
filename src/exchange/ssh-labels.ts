import { isPlainHop, JUMP_LABEL, KEY_LABEL, NOT_HOPS } from './hops.ts'
import { isForward } from './ssh-forward.ts'
import { faultOfKeyPath } from './ssh-key-path.ts'
import { keptKeywords } from './ssh-keywords.ts'

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
  /** Whether it stands for as many lines as it has parts between commas. */
  readonly isList?: boolean
  /** Why no file may have the value, to complete "a value that …". */
  fault(value: string): string | undefined
}

/** A hop as a URI; ssh takes one with a slash at its end, too. */
const HOP_URI = /^ssh:\/\/([^/]*)\/?$/

export const sshLabels: readonly SshLabel[] = [
  {
    key: JUMP_LABEL,
    keyword: 'ProxyJump',
    option: '-J',
    isBare: true,
    fromFile: plainJump,
    fault: faultOfJump,
  },
  { key: KEY_LABEL, keyword: 'IdentityFile', option: '-i', isBare: false, fault: faultOfKeyPath },
  ...keptKeywords.map(({ keyword, fromFile, fault }) => ({
    ...{ key: `ssh.${keyword.toLowerCase()}`, keyword, option: '-o', isBare: true, fromFile, fault },
    isList: isForward(keyword.toLowerCase()),
  })),
]

function plainJump(value: string): string {
  return value
    .split(',')
    .map((hop) => hop.replace(HOP_URI, '$1'))
    .join(',')
}

function faultOfJump(value: string): string | undefined {
  return value.split(',').every(isPlainHop) ? undefined : NOT_HOPS
}
