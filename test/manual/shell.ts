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
    stdio: ['pipe', 'pipe', 'pipe'],
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
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
      onChange()
    })
  }
  child.on('close', () => {
    text += `${END} ${CLOSED}\n`
    onChange()
  })
  // For a runner that is killed: the servers of a shell end with its input.
  child.stdin.write("trap 'kill $(jobs -p) 2> /dev/null' EXIT\n")
  return {
    /** Runs a command; its output, on both streams, comes without blank lines around it. */
    async run(command: string): Promise<{ text: string; code: number }> {
      text = ''
      // On both streams: what one has printed may arrive after the end of the other.
      child.stdin.write(
        `${command}\nlast_code=$?; for fd in 1 2; do printf '\\n%s\\n' "${END} $last_code" >&$fd; done\n`,
      )
      const end = new RegExp(`\n?${END} (\\w+)\n`, 'g')
      let ends = [...text.matchAll(end)]
      while (ends.length < 2 && ends[0]?.[1] !== CLOSED) {
        await changed.promise
        ends = [...text.matchAll(end)]
      }
      return { text: text.replaceAll(end, '').trim(), code: Number(ends[0]?.[1]) }
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
