import { fstatSync, writeSync } from 'node:fs'
import { parts } from './built.ts'
import { firstWordOf } from './command-line/command.ts'
import { OpenedBooks } from './command-line/opened-books.ts'
import { terminalStyleOf } from './command-line/terminal-style.ts'
import { typedAs, typedProgram } from './command-line/typed.ts'
import { commands } from './commands/commands.ts'
import { runProgram } from './commands/program.ts'
import { isSystemdJournal } from './systemd-journal.ts'
import { writtenTo } from './text.ts'

/** Not a variable of Node itself, but one that many machines set. */
const HARMLESS = 'NODE_ENV'

/** Loops for a file, because Node would not notice a partial write. */
async function print(text: string | Uint8Array): Promise<void> {
  const { fd } = process.stdout
  if (!isFile(fd)) {
    return new Promise((resolve, reject) => {
      process.stdout.write(text, (error) => (error ? reject(error) : resolve()))
    })
  }
  const bytes = typeof text === 'string' ? Buffer.from(text) : text
  for (let written = 0; written < bytes.length; ) written += writeSync(fd, bytes, written)
}

function isFile(fd: number): boolean {
  try {
    return fstatSync(fd).isFile()
  } catch {
    return false
  }
}

/**
 * Keeps Node's own variables, such as NODE_EXTRA_CA_CERTS, from having an effect on the program. Node reads many of them
 * before the program begins, so this replaces the process by one without them; pid and standard streams stay.
 *
 * Node would close other descriptors. So a process that was given one only drops the variables.
 *
 * @param words The words of the command line.
 */
function dropNodeVariables(words: readonly string[], environment: NodeJS.ProcessEnv): void {
  if (parts === undefined) return
  const { file } = parts
  const names = Object.keys(environment).filter(
    (name) => (/^NODE_/i.test(name) && name !== HARMLESS) || (file !== undefined && name === 'OPENSSL_CONF'),
  )
  if (names.length === 0) return
  for (const name of names) delete environment[name]
  const isGivenDescriptor =
    environment.LISTEN_PID === String(process.pid) ||
    [...words, ...ownValues(environment)].some(namesDescriptor)
  // Windows has no such call.
  if (process.execve === undefined || process.platform === 'win32' || isGivenDescriptor) return
  const own = file === undefined ? [] : [...process.execArgv, file]
  process.execve(process.execPath, [process.argv0, ...own, ...words], environment)
}

function namesDescriptor(text: string): boolean {
  return /\/(dev|self)\/fd\//.test(text)
}

/** The values of connbook's own variables, some of which name files. */
function ownValues(environment: NodeJS.ProcessEnv): string[] {
  return Object.keys(environment)
    .filter((name) => name.startsWith('CONNBOOK_'))
    .flatMap((name) => environment[name] ?? [])
}

const words = process.argv.slice(2)
dropNodeVariables(words, process.env)
// No other account may read the files.
process.umask(0o077)
const { stdout, stderr } = process
// Without a listener an error would end the process; for standard output, `print` rejects.
stdout.on('error', () => {})
stderr.on('error', () => {})
const style = terminalStyleOf(stdout, process.env)
const opened = new OpenedBooks()
const families = new Set(commands.map(({ name }) => firstWordOf(name)))
const typed = typedAs(typedProgram(parts?.file, process.env), families)
void runProgram(words, {
  environment: process.env,
  // Opened only by commands that read it.
  get input() {
    return process.stdin
  },
  // Escaped here, so that no command can forget it.
  print: opened.letGoBefore((text) => print(writtenTo(stdout, text))),
  style,
  screen: {
    isTTY: stderr.isTTY,
    isJournal: isSystemdJournal(process.env),
    write: (text) => stderr.write(writtenTo(stderr, typed(text))),
    draw: (text) => stderr.write(text),
  },
  typed,
  opened,
}).then((code) => process.exit(code))
