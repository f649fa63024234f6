import { readListedChanges } from '../audit/listed-changes.ts'
import { DAMAGED, defineCommand } from '../command-line/command.ts'
import type { Print } from '../command-line/output.ts'
import { ConnbookError } from '../errors.ts'
import { exportPieces, summarizeExport } from '../exchange/export.ts'
import { formatFor } from '../exchange/export-formats.ts'
import { replaceFile } from '../files/replaced-file.ts'
import { getUsedFolder, readBetweenRestores } from '../folder/used-folder.ts'
import { printableJson } from '../json.ts'
import { runAtOnce } from '../scheduler.ts'
import { fileStorage } from '../storage/file/file-storage.ts'
import { counted } from '../text.ts'
import {
  abortOnSignals,
  isStandardOutput,
  isStream,
  replacedPath,
  writeToOutput,
  writeToStream,
} from './written-file.ts'

const CANNOT_WRITE = 'Cannot write the export to'

/** The format cannot express some records, and `--skip` was not given. */
export class ExportRefusedError extends ConnbookError {
  readonly code = 'not_expressible'
}

/**
 * Works whether or not a server runs on the folder.
 *
 * It throws {FolderRefusedError} {DamagedFileError} when the folder cannot be read, {ExportRefusedError}, and
 * {OutputError} {FileNotReplacedError} when the export was not written whole.
 */
export const exportCommand = defineCommand({
  name: 'export',
  summary: 'write all records in the format of another tool',
  examples: [
    ['connbook export --format ssh-config > ssh_config', 'for ssh -F'],
    ['connbook export --format ansible > inventory.yml', 'a YAML inventory'],
    ['connbook export --format csv --output hosts.csv', 'replaces the file whole'],
  ],
  notes: [
    '--format is required. If the format cannot express some records, nothing is written, and the message names each of them with the reason.',
  ],
  flags: ['data', 'format', 'output', 'skip'],
  requires: 'format',
  exitCodes: { 0: 'the export is complete', 65: DAMAGED },
  async run({ options: { data, format, output = '-', skip } }, { print, screen }) {
    const folder = await getUsedFolder(data)
    const { index } = await readBetweenRestores(folder, async () =>
      fileStorage(folder).read(true, await readListedChanges(folder)),
    )
    const records = index.freeze()
    const known = formatFor(format, index.hasLabels)
    const summary = runAtOnce(summarizeExport(known, records, Number.POSITIVE_INFINITY))
    if (summary.leftOut > 0) {
      const what = `${summary.leftOut} of ${counted(index.count, 'record')} as ${format}`
      const list = summary.obstacles
        .map(({ name, reason }) => `  ${printableJson(name)} ${reason}\n`)
        .join('')
      if (!skip) {
        throw new ExportRefusedError(
          `Cannot export ${what}:\n${list}Nothing was written; rename or change them, or leave them out with --skip`,
        )
      }
      screen.write(`connbook: Left out ${what}:\n${list}`)
    }
    const pieces = exportPieces(known, records, summary)
    const write = (print: Print) => writePieces(pieces, print)
    if (isStandardOutput(output)) return writeToOutput(write, 'the export', print)
    if (await isStream(output, CANNOT_WRITE)) return writeToStream(write, 'the export', output)
    using interruption = abortOnSignals()
    const path = await replacedPath(output, CANNOT_WRITE, folder.path)
    await replaceFile(path, CANNOT_WRITE, write, interruption.signal, folder.files, true)
  },
})

async function writePieces(pieces: Iterable<string>, print: Print) {
  for (const piece of pieces) await print(piece)
}
