import { rmSync } from 'node:fs'
import { mkdir, mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Where results go: in the repository and not among the temporary files of the machine, which may be in memory. */
export const resultsFolder = fileURLToPath(new URL('../../bench/', import.meta.url))

/** A folder for data folders. It goes with the process, also when that is interrupted. */
export async function makeWorkshop(): Promise<string> {
  // Servers and folder go on exit.
  process.once('SIGINT', () => process.exit(130))
  process.once('SIGTERM', () => process.exit(143))
  await mkdir(resultsFolder, { recursive: true })
  const workshop = await mkdtemp(join(resultsFolder, 'run-'))
  process.once('exit', () => rmSync(workshop, { recursive: true, force: true }))
  return workshop
}
