import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import type { CommandContext } from '../command-line/command.ts'
import type { Progress } from '../command-line/progress.ts'
import { InvalidInputError } from '../errors.ts'
import { type LocatedFault, type SourceLocation, SshConfiguration } from '../exchange/ssh-configuration.ts'
import { type ResolvedHost, resolveHosts } from '../exchange/ssh-resolved.ts'
import { isStandardInput, readInputBytes } from '../files/input.ts'
import { FAULTS_MAX, IMPORT_ROWS_MAX } from '../limits.ts'
import { counted } from '../text.ts'
import type { ImportOrder } from './import-call.ts'
import { type FileFault, linesOf, refusal } from './import-faults.ts'
import { fileIdOf, type SshConfigOwner, takeSshFiles } from './ssh-config-files.ts'

const SYSTEM_FOLDER = '/etc/ssh'

/**
 * Reads an SSH configuration as ssh would for the user who runs this, and names on the screen what `--skip` leaves out.
 *
 * @throws {ImportRefusedError} for faults without `--skip`. @throws {InvalidInputError} for what `--skip` cannot help.
 */
export async function readSshHosts(
  order: ImportOrder,
  context: CommandContext,
  progress: Progress,
): Promise<ResolvedHost[]> {
  const { source, username, isSkipping = false } = order
  const faults: LocatedFault[] = []
  const onFault = (fault: LocatedFault) => {
    faults.push(fault)
    if (faults.length > IMPORT_ROWS_MAX)
      throw new InvalidInputError(`It has more than ${IMPORT_ROWS_MAX} faults; make it several files`)
  }
  const configuration = new SshConfiguration(onFault)
  const what = isStandardInput(source) ? 'standard input' : `"${source}"`
  const pieces = readInputBytes({ source, what, context, onShare: (share) => progress.show(share) })
  const id = isStandardInput(source) ? undefined : await fileIdOf(source)
  await takeSshFiles(configuration, pieces, ownerOf(source, context), id)
  const hosts = resolveHosts(configuration, username, onFault)
  if (configuration.hosts.size === 0)
    onFault({
      location: { file: undefined, line: 1, order: 0 },
      field: 'document',
      detail: 'has no Host with a plain name',
    })
  if (faults.length === 0) return hosts
  faults.sort((a, b) => a.location.order - b.location.order)
  const found = faults.map(fileFault)
  // With --mode replace, an import of no records would remove every record.
  if (!isSkipping || hosts.length === 0)
    throw refusal(order, found.slice(0, FAULTS_MAX), faults.length, hosts.length > 0)
  const count = counted(faults.length, 'fault')
  const lines = linesOf(found).join('\n')
  context.screen.write(`connbook: Left out of ${source}, for ${count}:\n${lines}\n`)
  return hosts
}

/** The file and line of a host, for a fault that was found later. */
export function locationOf({ file, line }: SourceLocation): Pick<FileFault, 'file' | 'line'> {
  return { file, line }
}

function fileFault({ location, name, field, detail }: LocatedFault): FileFault {
  return { ...locationOf(location), field, detail, ...(name === undefined ? {} : { name }) }
}

function ownerOf(source: string, { environment }: CommandContext): SshConfigOwner {
  const isOfSystem =
    !isStandardInput(source) && `${dirname(resolve(source))}/`.startsWith(`${SYSTEM_FOLDER}/`)
  if (isOfSystem) return { home: undefined, folder: SYSTEM_FOLDER }
  const home = environment.HOME || homedir()
  return { home, folder: join(home, '.ssh') }
}
