import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { quoteForShell } from '../../src/shell.ts'
import { eventually } from './eventually.ts'
import { executable } from './executable.ts'
import type { Lifetime } from './temporary-folder.ts'

/** The executable on its own terminal, with a person who types. */
export interface TerminalSession {
  /** Everything that the terminal has shown, including echoes. */
  screen(): string
  /** Waits until the terminal shows a text, after the text of the last wait. */
  sees(text: string): Promise<void>
  type(text: string): void
  /** Closes the terminal, as a person who closes its window. */
  close(): Promise<void>
  readonly exitCode: Promise<number | null>
}

/** Control characters as a person at a terminal sends them. */
export const keysOf = { enter: '\r', ctrlC: '\u0003', ctrlD: '\u0004' }

/** Where `script` is util-linux's, which gives a program a terminal and its exit code. */
export const hasTerminals = process.platform === 'linux'

export function startAtTerminal(
  t: Lifetime,
  args: readonly string[],
  environment: NodeJS.ProcessEnv = {},
): TerminalSession {
  return startProgramAtTerminal(t, [executable, ...args], environment)
}

/** The same with any program. */
export function startProgramAtTerminal(
  t: Lifetime,
  words: readonly string[],
  environment: NodeJS.ProcessEnv = {},
): TerminalSession {
  const command = words.map(quoteForShell).join(' ')
  const child = spawn(
    'script',
    ['--quiet', '--return', '--flush', '--command', `exec ${command}`, '/dev/null'],
    {
      env: { PATH: process.env.PATH, SHELL: '/bin/sh', TERM: 'xterm', ...environment },
      stdio: ['pipe', 'pipe', 'ignore'],
    },
  )
  const exitCode = once(child, 'close').then(([code]) => code as number | null)
  // When script ends, so does the terminal, and with it whatever runs there.
  const close = async () => {
    child.kill('SIGKILL')
    await exitCode
  }
  t.after(close)
  let screen = ''
  let seenEnd = 0
  child.stdout.setEncoding('utf8').on('data', (text: string) => (screen += text))
  child.stdin.on('error', () => {})
  return {
    screen: () => screen,
    async sees(text) {
      await eventually(`"${text}" on the screen`, () => screen.includes(text, seenEnd)).catch(() =>
        assert.fail(`"${text}" is not on the screen:\n${screen}`),
      )
      seenEnd = screen.indexOf(text, seenEnd) + text.length
    },
    type: (text) => void child.stdin.write(text),
    close,
    exitCode,
  }
}
