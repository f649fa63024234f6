import { spawn } from 'node:child_process'
import type { Lifetime } from '../support/temporary-folder.ts'

const END = '--- end of command ---'
/** In the place of an exit code: the shell has ended. */
const CLOSED = 'closed'

/** One bash for many commands; what it leaves running is killed when the test ends. */
export function openShell(t: Lifetime, { cwd, env }: { cwd: string; env: NodeJS.ProcessEnv }) {
  const child = spawn('bash', ['--noprofile', '--norc'], {
    cwd,
    env,
    stdio: ['pipe', 'pipe', 'inherit'],
    // It leads its own process group, so that its servers can be killed with it.
    detached: true,
  })
  t.after(() => {
    if (child.pid !== undefined) killGroup(child.pid)
  })
  let text = ''
  let changed = Promise.withResolvers<void>()
  const onChange = () => {
    changed.resolve()
    changed = Promise.withResolvers()
  }
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
    onChange()
  })
  child.on('close', () => {
    text += `${END} ${CLOSED}\n`
    onChange()
  })
  // Both streams through one pipe, so that their lines arrive in the order in which they were printed.
  child.stdin.write('exec 2>&1\n')
  // For a runner that is killed: the servers of a shell end with its input.
  child.stdin.write("trap 'kill $(jobs -p) 2> /dev/null' EXIT\n")
  return {
    /** Runs a command; its output, on both streams, comes without blank lines around it. */
    async run(command: string): Promise<{ text: string; code: number }> {
      text = ''
      child.stdin.write(`${command}\nprintf '\\n%s\\n' "${END} $?"\n`)
      const end = new RegExp(`\n?${END} (\\w+)\n`)
      let found = end.exec(text)
      while (found === null) {
        await changed.promise
        found = end.exec(text)
      }
      return { text: text.replace(end, '').trim(), code: Number(found[1]) }
    },
  }
}

function killGroup(leader: number) {
  try {
    process.kill(-leader, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
