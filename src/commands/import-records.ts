import { dirname, join, resolve } from 'node:path'
import type { Readable } from 'node:stream'
import type { CommandContext } from '../command-line/command.ts'
import { Progress } from '../command-line/progress.ts'
import { InvalidInputError } from '../errors.ts'
import { type FileFault, FoundFaults } from '../exchange/found-faults.ts'
import type { ImportOptions } from '../exchange/import-options.ts'
import { type ImportFormatName, ImportReader, type ReadForm } from '../exchange/import-reader.ts'
import type { InputEncoding } from '../exchange/import-text.ts'
import { flatSshConfiguration } from '../exchange/ssh-config-format.ts'
import { type LocatedFault, type SourceLocation, SshConfiguration } from '../exchange/ssh-configuration.ts'
import { changesWay } from '../exchange/ssh-keywords.ts'
import { type ResolvedHost, resolveHosts } from '../exchange/ssh-resolved.ts'
import { type FileSystem, realFileSystem } from '../files/file-system.ts'
import { isStandardInput, readInputBytes } from '../files/input.ts'
import { FAULTS_MAX } from '../limits.ts'
import type { ImportMode } from '../store/authorship.ts'
import type { ImportedConfiguration } from '../store/configuration.ts'
import { homeFolder } from '../system-account.ts'
import { counted } from '../text.ts'
import { describeWarning, ImportRefusedError, linesOf, refusal } from './import-report.ts'
import { callersAccount } from './remote/add.ts'
import { fileIdOf, type SshConfigOwner, takeSshFiles } from './ssh-config-files.ts'

const SYSTEM_FOLDER = '/etc/ssh'

/** What an import was asked to do. */
export interface ImportOrder {
  /** A path, or `-` for standard input. */
  readonly source: string
  readonly format: ImportFormatName
  readonly mode: ImportMode
  /** Whether nothing is to change. */
  readonly isTrial: boolean
  /** For hosts of an SSH configuration without one. */
  readonly username?: string | undefined
  /** How the file is read. */
  readonly options: ImportOptions
  /** Encoding of a file that is neither UTF-8 nor UTF-16. */
  readonly encoding?: InputEncoding | undefined
  /** Why, for the history. */
  readonly reason?: string | undefined
}

export interface ReadRecords {
  readonly drafts: readonly ImportedConfiguration[]
  /** How the file was read; not of an SSH configuration, which may be several files. */
  readonly read?: ReadForm
  /** Where a record stands, if `take` got another text than the file; undefined for a name that is not there. */
  readonly locationOf?: (name: string) => Pick<FileFault, 'file' | 'line'> | undefined
}

/**
 * Reads and checks all records of a file.
 *
 * @param take Gets pieces of a text that a server imports to the same records: the unpacked file, or an SSH
 *   configuration with all that it means for each host. A piece is valid only during the call.
 * @throws {ImportRefusedError} for a file with faults.
 */
export async function readRecords(
  order: ImportOrder,
  context: CommandContext,
  take?: (piece: Buffer) => void,
): Promise<ReadRecords> {
  const { source, format } = order
  const progress = new Progress(`Reading ${source}`, context.screen)
  try {
    if (format === 'ssh-config') {
      const hosts = await readSshHosts(order, context, progress)
      return takeHosts(hosts, take)
    }
    const reader = new ImportReader(format, FAULTS_MAX, { options: order.options })
    await readInput(source, context, (bytes, share) => {
      const piece = inUtf8(bytes, order)
      take?.(piece)
      reader.read(piece)
      progress.show(share)
    })
    const { drafts, faults, faultCount, isAnyLeft, warnings, read } = reader.end()
    if (faultCount > 0) throw refusal(order, faults, faultCount, isAnyLeft)
    for (const warning of warnings) context.screen.write(`connbook: ${describeWarning(source, warning)}\n`)
    return { drafts, read: order.encoding === undefined ? read : { ...read, encoding: order.encoding } }
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error
    throw new ImportRefusedError(`Cannot import ${source}: ${error.message}; nothing has changed`)
  } finally {
    progress.end()
  }
}

function takeHosts(hosts: readonly ResolvedHost[], take: ((piece: Buffer) => void) | undefined): ReadRecords {
  const drafts = hosts.map(({ draft }) => draft)
  if (take !== undefined) for (const text of flatSshConfiguration(drafts)) take(Buffer.from(text))
  const locations = new Map(hosts.map(({ draft, location }) => [draft.name, locationOf(location)]))
  return { drafts, locationOf: (name) => locations.get(name) }
}

/** A piece of the file that was named, in UTF-8. */
function inUtf8(bytes: Buffer, { encoding }: ImportOrder): Buffer {
  // Each byte of such an encoding is a character.
  return encoding === undefined ? bytes : Buffer.from(new TextDecoder(encoding).decode(bytes))
}

async function* allInUtf8(pieces: AsyncIterable<Buffer>, order: ImportOrder): AsyncGenerator<Buffer> {
  for await (const piece of pieces) yield inUtf8(piece, order)
}

/**
 * Reads a file or a pipe, or standard input for `-`, piece by piece, and unpacks gzip.
 *
 * @param context Its `input` is touched only for `-`, because touching it opens standard input.
 * @param take Gets each piece, and the share read so far, from 0 to 1; undefined when the size is unknown.
 * @throws {UsageError} {InputUnreadableError} {InputDamagedError} Also throws what `take` does.
 */
export async function readInput(
  source: string,
  context: { readonly input: Readable },
  take: (piece: Buffer, share: number | undefined) => void,
  files: FileSystem = realFileSystem,
): Promise<void> {
  let share: number | undefined
  const what = source === '-' ? 'standard input' : `"${source}"`
  const onShare = (found: number | undefined) => {
    share = found
  }
  for await (const piece of readInputBytes({ source, what, context, files, onShare })) take(piece, share)
}

/**
 * Reads an SSH configuration as ssh would for the user who runs this, and names on the screen what `--skip` leaves out.
 *
 * @throws {ImportRefusedError} for faults without `--skip`. @throws {InvalidInputError} for what `--skip` cannot help.
 */
async function readSshHosts(
  order: ImportOrder,
  context: CommandContext,
  progress: Progress,
): Promise<ResolvedHost[]> {
  const { source, options } = order
  const { isSkipping = false } = options
  const faults = new FoundFaults(FAULTS_MAX)
  const onFault = ({ location, ...fault }: LocatedFault) =>
    faults.add({ ...location, ...fault, isShared: true, isWay: changesWay(fault.field) })
  const configuration = new SshConfiguration(onFault)
  const what = isStandardInput(source) ? 'standard input' : `"${source}"`
  const pieces = readInputBytes({ source, what, context, onShare: (share) => progress.show(share) })
  const id = isStandardInput(source) ? undefined : await fileIdOf(source)
  await takeSshFiles(configuration, allInUtf8(pieces, order), ownerOf(source, context), id)
  const username = order.username ?? callersAccount(context.environment)
  const hosts = resolveHosts(configuration, { username, isSkipping, remedy: '--user NAME' }, onFault)
  const nameless = order.username === undefined ? hosts.filter(({ hasUser }) => !hasUser).length : 0
  if (nameless > 0)
    context.screen.write(
      `connbook: ${source}: ${counted(nameless, 'host')} without User ${nameless === 1 ? 'gets' : 'get'} ${JSON.stringify(username)}, the account that runs this; --user says another\n`,
    )
  for (const { file, ...warning } of configuration.warnings)
    context.screen.write(`connbook: ${describeWarning(file ?? source, warning)}\n`)
  if (configuration.hosts.size === 0)
    faults.add({ line: 1, field: 'document', detail: 'has no Host with a plain name' })
  if (faults.count === 0) return hosts
  // With --mode replace, an import of no records would remove every record.
  if (!isSkipping || hosts.length === 0) throw refusal(order, faults.list(), faults.count, hosts.length > 0)
  const count = counted(faults.count, 'fault')
  const lines = linesOf(faults.list(), faults.count).join('\n')
  context.screen.write(`connbook: Left out of ${source}, for ${count}:\n${lines}\n`)
  return hosts
}

/** The file and line of a host, for a fault that was found later. */
function locationOf({ file, line }: SourceLocation): Pick<FileFault, 'file' | 'line'> {
  return { file, line }
}

function ownerOf(source: string, { environment }: CommandContext): SshConfigOwner {
  const isOfSystem =
    !isStandardInput(source) && `${dirname(resolve(source))}/`.startsWith(`${SYSTEM_FOLDER}/`)
  if (isOfSystem) return { home: undefined, folder: SYSTEM_FOLDER }
  const home = environment.HOME || homeFolder()
  return { home, folder: join(home, '.ssh') }
}
