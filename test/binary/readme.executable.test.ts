import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { missing } from '../support/debian.ts'
import { executable } from '../support/executable.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** A command of the README and the output that it shows. */
interface Step {
  readonly command: string
  /** Lines without their `# `; `…` matches anything. */
  readonly output: readonly string[]
}

const END_OF_STEP = '--- end of step ---'

describe('the README', () => {
  const hasServices = existsSync('/etc/services')
  const skip = hasServices ? missing('openssl') : '/etc/services is missing: apt-get install netbase'

  it('shows what its commands print, line by line', { skip }, async (t) => {
    const readme = await readFile(new URL('../../README.md', import.meta.url), 'utf8')
    const titles = [
      'A tour with curl',
      'A real list',
      'Back up and restore',
      'Take them elsewhere, bring them in',
      'HTTPS',
    ]
    const steps = titles.flatMap((title) => stepsOf(section(readme, title)))
    assert.ok(steps.length > 20, `only ${steps.length} commands found`)
    const port = await freePort()
    const shell = await openShell(t, port)
    for (const { command, output } of steps) {
      const printed = await shell.run(command.replaceAll('localhost:8080', `localhost:${port}`))
      const expected = output.join('\n').replaceAll('localhost:8080', `localhost:${port}`)
      assert.match(printed, patternOf(expected), `${command}\nprinted\n${printed}\ninstead of\n${expected}`)
    }
    await shell.close()
  })
})

function section(readme: string, title: string): string {
  const text = readme.split(`\n## ${title}\n`)[1]?.split('\n## ')[0]
  return text ?? assert.fail(`the README has no section "${title}"`)
}

/** Parses the `sh` blocks: a command continues while its lines end in a backslash or a pipe. */
function stepsOf(text: string): Step[] {
  const blocks = Array.from(text.matchAll(/```sh\n(.*?)```/gs), (match) => match[1] ?? '')
  const steps: { command: string; output: string[] }[] = []
  let isOpen = false
  for (const line of blocks.join('').split('\n')) {
    const last = steps.at(-1)
    if (line.startsWith('# ') && last !== undefined) last.output.push(line.slice(2))
    else if (isOpen && last !== undefined) last.command += `\n${line}`
    else if (line !== '') steps.push({ command: line, output: [] })
    if (line !== '' && !line.startsWith('# ')) isOpen = /[\\|]$/.test(line)
  }
  return steps
}

/** Without output in the README, any output matches. */
function patternOf(expected: string): RegExp {
  if (expected === '') return /(?:)/
  return new RegExp(`^${expected.split('…').map(RegExp.escape).join('.*')}$`, 's')
}

/** One bash for all commands, in an empty folder, with connbook on its PATH and its default port moved. */
async function openShell(t: TestContext, port: number) {
  const folder = await temporaryFolder(t)
  const child = spawn('bash', ['--noprofile', '--norc'], {
    cwd: folder,
    env: { PATH: `${dirname(executable)}:${process.env.PATH}`, CONNBOOK_PORT: String(port), HOME: folder },
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  })
  // The shell leads its own process group, so a server that it left running is killed with it.
  t.after(() => {
    if (child.pid !== undefined) killGroup(child.pid)
  })
  let text = ''
  let changed = Promise.withResolvers<void>()
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
      changed.resolve()
      changed = Promise.withResolvers()
    })
  }
  return {
    async run(command: string): Promise<string> {
      text = ''
      child.stdin.write(`${command}\necho; echo '${END_OF_STEP}'\n`)
      while (!text.includes(END_OF_STEP)) await changed.promise
      return text.slice(0, text.indexOf(END_OF_STEP)).trim()
    },
    async close() {
      const closed = new Promise((resolve) => child.once('exit', resolve))
      child.stdin.end()
      await closed
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

async function freePort(): Promise<number> {
  const server = createServer().listen(0)
  await new Promise((resolve) => server.once('listening', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return typeof address === 'object' && address !== null ? address.port : assert.fail('no port')
}
