import { execFile } from 'node:child_process'
import { userInfo } from 'node:os'
import { promisify } from 'node:util'

/** What ssh would use for a host, as `ssh -G` prints it. */
export interface SshMeaning {
  readonly hostname: string
  readonly port: string
  /** Undefined when no line says it: then it is the account that runs ssh. */
  readonly user: string | undefined
  readonly proxyjump: string | undefined
  /** Without the ones that ssh tries by default. */
  readonly identities: readonly string[]
}

const run = promisify(execFile)

/**
 * Asks `ssh -G`, which connects to nothing, for each name; from one shell, which is faster.
 *
 * @param home Of the user, where `~` and relative paths lead.
 */
export async function askSshAs(home: string, file: string, names: readonly string[]): Promise<SshMeaning[]> {
  const script = 'for name do ssh -G -F "$0" -- "$name" || exit; printf "\\0"; done'
  const env = { PATH: process.env.PATH, HOME: home }
  const { stdout } = await run('sh', ['-c', script, file, ...names], { env, maxBuffer: 64 * 1024 * 1024 })
  return stdout
    .split('\0')
    .slice(0, -1)
    .map((text) => {
      const all = (keyword: string) =>
        Array.from(text.matchAll(new RegExp(`^${keyword} ([^\n]*)$`, 'gm')), ([, value = '']) => value)
      const user = all('user')[0]
      const identities = all('identityfile')
      return {
        hostname: all('hostname')[0] ?? '',
        port: all('port')[0] ?? '',
        user: user === userInfo().username ? undefined : user,
        proxyjump: all('proxyjump')[0],
        identities: identities[0] === '~/.ssh/id_rsa' ? [] : identities,
      }
    })
}
