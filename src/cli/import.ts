import { resolve } from 'node:path'
import { recordImport } from '../audit/changed-records.ts'
import {
  ConnbookError,
  type Fault,
  FolderInUseError,
  InvalidInputError,
  systemCode,
  UsageError,
} from '../errors.ts'
import { type ImportFormatName, importFormatNames } from '../exchange/import-formats.ts'
import { createImportReader, type ImportedRecords } from '../exchange/import-reader.ts'
import { type DataFolder, dataPaths, openDataFolder } from '../files/data-folder.ts'
import { printable, printableJson } from '../json.ts'
import { FAULTS_MAX, IMPORT_NAMES_LISTED_MAX } from '../limits.ts'
import { createLog } from '../log.ts'
import { quoteForShell } from '../shell.ts'
import { openConfigurationStore } from '../store/configuration-store.ts'
import type { ImportMode, ImportPlan } from '../store/import-plan.ts'
import { counted } from '../text.ts'
import { withCommandTrail } from './command-audit.ts'
import { readInput } from './import-input.ts'
import { parseCommandLine } from './options.ts'
import { OutputError, type Print } from './output.ts'
import { createProgress } from './progress.ts'
import { checkUsedFolder } from './used-folder.ts'

/** The file holds what cannot be taken; nothing has changed. */
export class ImportRefusedError extends ConnbookError {
  readonly code = 'import_refused'
}

const USAGE = 'Write it as: connbook import FILE, or: connbook import - --format FORMAT'

const formatsByEnding: readonly (readonly [ending: string, format: ImportFormatName])[] = [
  ['.json', 'json'],
  ['.csv', 'csv'],
  ['ssh_config', 'ssh-config'],
  ['.ssh/config', 'ssh-config'],
]

/**
 * Runs `import FILE` or `import -` on the folder of a server that does not run. All changes are made, or none.
 *
 * @throws {UsageError} {FolderInUseError} {FolderRefusedError} {DamagedFileError} {ImportRefusedError}
 *   {StorageFullError}; then nothing has changed.
 * @throws {OutputError} if `print` failed; then everything is done.
 */
export async function runImportCommand(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
  print: Print,
): Promise<void> {
  const { options, words } = parseCommandLine(args, environment, ['data', 'format', 'mode', 'dryRun'])
  const [source, ...rest] = words
  if (source === undefined || rest.length > 0) throw new UsageError(USAGE)
  const format = formatOf(source, options.format)
  const path = resolve(options.data)
  await checkUsedFolder(path)
  const folder = await openDataFolder(path).catch((error: unknown) => {
    throw error instanceof FolderInUseError ? inUse(error, source, format, options.mode) : error
  })
  // Whoever interrupts from here on finds all changes made, or none.
  let plan: ImportPlan
  try {
    const drafts = await readDrafts(source, format)
    plan = await changeRecords(folder, drafts, options.mode, options.dryRun)
  } finally {
    folder.release()
  }
  const text = options.dryRun ? describeTried(plan) : describeDone(plan, path)
  await print(text).catch((error: unknown) => {
    const state = options.dryRun ? 'nothing has changed' : 'the import is complete'
    throw new OutputError(`Cannot show what was done (${systemCode(error)}); ${state}`, { cause: error })
  })
}

function formatOf(source: string, given: string | undefined): ImportFormatName {
  const told = given ?? formatsByEnding.find(([ending]) => source.toLowerCase().endsWith(ending))?.[1]
  const format = importFormatNames.find((known) => known === told)
  if (format !== undefined) return format
  const what = told === undefined ? `tell the format of "${source}"` : `import ${told}`
  throw new UsageError(`Cannot ${what}; say --format with one of ${importFormatNames.join(', ')}`)
}

async function readDrafts(source: string, format: ImportFormatName) {
  const reader = createImportReader(format, FAULTS_MAX)
  const progress = createProgress(`Reading ${source}`)
  try {
    await readInput(source, (piece, share) => {
      reader.read(piece)
      progress.show(share)
    })
    const read = reader.end()
    if (read.faultCount > 0) throw refusal(source, read)
    return read.drafts
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error
    throw new ImportRefusedError(`Cannot import ${source}: ${error.message}; nothing has changed`)
  } finally {
    progress.end()
  }
}

async function changeRecords(
  folder: DataFolder,
  drafts: ImportedRecords['drafts'],
  mode: ImportMode,
  isDryRun: boolean,
): Promise<ImportPlan> {
  // What a server would log of its start is nothing that happens here.
  const log = { ...createLog('text'), info: () => {} }
  const store = await openConfigurationStore(dataPaths(folder.path), { mustExist: true, log })
  try {
    if (isDryRun) return store.planImport(drafts, mode)
    const plan = await store.importAll(drafts, mode)
    await withCommandTrail(folder.path, 'import', (trail, actor) => recordImport(trail, actor, mode, plan))
    return plan
  } finally {
    await store.close()
  }
}

function refusal(source: string, { faults, faultCount }: ImportedRecords): ImportRefusedError {
  const rest = faultCount - faults.length
  return new ImportRefusedError(
    `Cannot import ${source}: ${counted(faultCount, 'fault')}; nothing has changed\n` +
      faults.map((fault) => `  ${describeFault(fault)}`).join('\n') +
      (rest > 0 ? `\n  and ${rest} more` : ''),
  )
}

function describeFault({ line, field, detail }: Fault): string {
  return printable(`line ${line}: ${JSON.stringify(field).slice(1, -1)} ${detail}`)
}

/** The folder is not a command's to change while a server has it; the server takes the same over HTTP. */
function inUse(error: FolderInUseError, source: string, format: ImportFormatName, mode: ImportMode) {
  const body = source === '-' ? '@-' : `@${source}`
  const curl = [
    "curl -sS -H 'Authorization: Bearer TOKEN' -H 'Content-Type:'",
    `--data-binary ${quoteForShell(body)}`,
    quoteForShell(`http://localhost:8080/v1/import?format=${format}&mode=${mode}`),
  ]
  return new FolderInUseError(
    `${error.message}\nWhile the server runs, send it the file: ${curl.join(' ')}`,
    {
      cause: error,
    },
  )
}

function describeDone({ added, modified, removed, unchanged }: ImportPlan, path: string): string {
  return `Imported to ${path}: ${added.length} added, ${modified.length} modified, ${removed.length} removed, ${unchanged} unchanged\n`
}

function describeTried({ added, modified, removed, unchanged }: ImportPlan): string {
  const kinds = [
    ['add', added],
    ['modify', modified.map(({ after }) => after)],
    ['remove', removed],
  ] as const
  const lines = kinds.flatMap(([verb, records]) => {
    const listed = records.slice(0, IMPORT_NAMES_LISTED_MAX)
    const rest = records.length - listed.length
    return [
      ...listed.map(({ name }) => `  ${verb} ${printableJson(name)}\n`),
      ...(rest > 0 ? [`  ${verb} ${rest} more\n`] : []),
    ]
  })
  return `Would add ${added.length}, modify ${modified.length}, remove ${removed.length}; ${unchanged} unchanged\n${lines.join('')}`
}
