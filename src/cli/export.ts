import { resolve } from 'node:path'
import { ConnbookError, systemCode, UsageError } from '../errors.ts'
import { type Export, prepareExport } from '../exchange/export.ts'
import { exportFormatNames, findExportFormat } from '../exchange/export-formats.ts'
import { dataPaths } from '../files/data-folder.ts'
import { realFileSystem } from '../files/file-system.ts'
import { printableJson } from '../json.ts'
import { readStoreBeside } from '../store/store-files.ts'
import { counted } from '../text.ts'
import { parseCommandLine } from './options.ts'
import { OutputError, type Print } from './output.ts'
import { checkUsedFolder, readBetweenRestores } from './used-folder.ts'

/** The format cannot express some records, and they were not to be left out. */
export class ExportRefusedError extends ConnbookError {
  readonly code = 'not_expressible'
}

/**
 * Runs `export --format FORMAT`, whether or not a server runs on the folder.
 *
 * @throws {UsageError} {FolderRefusedError} {DamagedFileError} when there is nothing sound to be exported.
 * @throws {ExportRefusedError} if the format cannot express a record and `--skip` is not given; nothing was written.
 * @throws {OutputError} when not all could be written.
 */
export async function runExportCommand(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
  print: Print,
): Promise<void> {
  const { options, words } = parseCommandLine(args, environment, ['data', 'format', 'skip'])
  const format = findExportFormat(options.format ?? '')
  if (format === undefined || words.length > 0) {
    throw new UsageError(
      `Write it as: connbook export --format FORMAT, one of ${exportFormatNames.join(', ')}`,
    )
  }
  const folder = resolve(options.data)
  await checkUsedFolder(folder)
  const { index } = await readBetweenRestores(folder, () =>
    readStoreBeside(dataPaths(folder), true, realFileSystem),
  )
  const prepared = await prepareExport(format, () => index.freeze(), Number.POSITIVE_INFINITY)
  if (prepared.leftOut > 0) {
    const what = `${prepared.leftOut} of ${counted(index.count, 'record')} as ${options.format}`
    const list = describeObstacles(prepared)
    if (!options.skip) {
      throw new ExportRefusedError(
        `Cannot export ${what}:\n${list}Nothing was written; rename or change them, or leave them out with --skip`,
      )
    }
    process.stderr.write(`connbook: Left out ${what}:\n${list}`)
  }
  try {
    for (const piece of prepared.pieces) await print(piece)
  } catch (error) {
    throw new OutputError(
      `Cannot write the export to standard output (${systemCode(error)}); what it got is not whole`,
      { cause: error },
    )
  }
}

function describeObstacles({ obstacles }: Export): string {
  return obstacles.map(({ name, reason }) => `  ${printableJson(name)} ${reason}\n`).join('')
}
