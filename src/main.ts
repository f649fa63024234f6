import { fstatSync, writeSync } from 'node:fs'
import { dropNodeVariables } from './command-line/node-variables.ts'
import { terminalStyleOf } from './command-line/terminal-style.ts'
import { runProgram } from './commands/program.ts'
import { isSystemdJournal } from './systemd-journal.ts'

/** Loops for a file, because Node would not notice a partial write. */
async function print(text: string): Promise<void> {
  const { fd } = process.stdout
  if (!isFile(fd)) {
    return new Promise((resolve, reject) => {
      process.stdout.write(text, (error) => (error ? reject(error) : resolve()))
    })
  }
  const bytes = Buffer.from(text)
  for (let written = 0; written < bytes.length; ) written += writeSync(fd, bytes, written)
}

function isFile(fd: number): boolean {
  try {
    return fstatSync(fd).isFile()
  } catch {
    return false
  }
}

const words = process.argv.slice(2)
dropNodeVariables(words, process.env)
// No other account may read the files.
process.umask(0o077)
// Without a listener an error would end the process; for standard output, `print` rejects.
process.stdout.on('error', () => {})
process.stderr.on('error', () => {})
void runProgram(words, {
  environment: process.env,
  // Opened only by commands that read it.
  get input() {
    return process.stdin
  },
  print,
  style: terminalStyleOf(process.stdout, process.env),
  screen: Object.assign(process.stderr, { isJournal: isSystemdJournal(process.env) }),
}).then((code) => process.exit(code))
