import { writeSync } from 'node:fs'

/** Ends the process with one line, before any test of the file has run, if there is something to say. */
export function refuseToRun(reason: string | undefined): void {
  if (reason === undefined) return
  writeSync(process.stderr.fd, `${reason}\n`)
  process.exit(1)
}
