import { fstatSync, writeSync } from 'node:fs'
import { lookOf } from './command-line/look.ts'
import { runProgram } from './commands/program.ts'

/** Node would not notice when a file takes only a part of the text. */
function print(text: string): Promise<void> {
  if (isFile(process.stdout.fd)) return writeAllTo(process.stdout.fd, Buffer.from(text))
  return new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => (error ? reject(error) : resolve()))
  })
}

async function writeAllTo(fd: number, bytes: Uint8Array): Promise<void> {
  for (let written = 0; written < bytes.length; ) written += writeSync(fd, bytes, written)
}

function isFile(fd: number): boolean {
  try {
    return fstatSync(fd).isFile()
  } catch {
    return false
  }
}

// Every file is closed to other accounts.
process.umask(0o077)
// Who prints hears of a failure; without a listener here it would end the process besides.
process.stdout.on('error', () => {})
// There is nobody left to tell.
process.stderr.on('error', () => {})
void runProgram(process.argv.slice(2), {
  environment: process.env,
  // Opened only by a command that reads it.
  get input() {
    return process.stdin
  },
  print,
  look: lookOf(process.stdout, process.env),
  screen: process.stderr,
}).then((code) => process.exit(code))
