import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/** For the `skip` of a test: false when the command is there, else the package that has it. */
export function missing(command: string, debianPackage = command): string | false {
  const isThere = (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, command), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
  return isThere ? false : `${command} is missing: apt-get install ${debianPackage}`
}
