import { execFileSync } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { tools } from './debian-tools.mjs'

/** Why tests with a command are skipped, for their `skip`; false if it is installed. */
export function missing(command: keyof typeof tools): string | false {
  const tool = tools[command]
  if (!isThere(command)) {
    return `${command} is missing: apt-get install ${tool.package} (tried with version ${tool.version})`
  }
  if (!('least' in tool)) return false
  const found = versionOf(command, tool.least.ask)
  return isOlder(found, tool.least.version)
    ? `${command} ${found} is too old: it must be ${tool.least.version} or later`
    : false
}

function isThere(command: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, command), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

/** The first number with a dot that a command prints about itself, on either stream. */
function versionOf(command: string, flag: string): string {
  const said = execFileSync('sh', ['-c', '"$0" "$1" 2>&1', command, flag], { encoding: 'utf8' })
  return /\d+\.\d+/.exec(said)?.[0] ?? '0.0'
}

/** Both are two numbers with a dot between them. */
export function isOlder(version: string, than: string): boolean {
  const [[major = 0, minor = 0], [leastMajor = 0, leastMinor = 0]] = [version, than].map((text) =>
    text.split('.').map(Number),
  ) as [number[], number[]]
  return major < leastMajor || (major === leastMajor && minor < leastMinor)
}
