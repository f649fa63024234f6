import type { CommandContext } from '../command-line/command.ts'
import { createProgress } from '../command-line/progress.ts'
import { InvalidInputError } from '../errors.ts'
import { createImportReader } from '../exchange/import-reader.ts'
import { flatSshConfiguration } from '../exchange/ssh-flat.ts'
import type { ResolvedHost } from '../exchange/ssh-resolved.ts'
import { FAULTS_MAX } from '../limits.ts'
import type { ImportedConfiguration } from '../store/configuration.ts'
import { counted } from '../text.ts'
import type { ImportOrder } from './import-call.ts'
import { type FileFault, ImportRefusedError, refusal } from './import-faults.ts'
import { readInput } from './import-input.ts'
import { locationOf, readSshHosts } from './import-ssh.ts'

export interface ReadRecords {
  readonly drafts: readonly ImportedConfiguration[]
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
  const progress = createProgress(`Reading ${source}`, context.screen)
  try {
    if (format === 'ssh-config') {
      const hosts = await readSshHosts(order, context, progress)
      return takeHosts(hosts, take)
    }
    const reader = createImportReader(format, FAULTS_MAX)
    await readInput(source, context, (piece, share) => {
      take?.(piece)
      reader.read(piece)
      progress.show(share)
    })
    const { drafts, faults, faultCount, emptyCount } = reader.end()
    if (faultCount > 0) throw refusal(order, faults, faultCount)
    if (emptyCount > 0)
      context.screen.write(`connbook: Left out ${counted(emptyCount, 'empty row')} of ${source}\n`)
    return { drafts }
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
