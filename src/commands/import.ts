import { readListedChanges } from '../audit/listed-changes.ts'
import { recordIfUnchanged } from '../audit/unchanged-import.ts'
import { type CommandContext, DAMAGED, defineCommand, IN_USE } from '../command-line/command.ts'
import { shown } from '../command-line/output.ts'
import { createProgress } from '../command-line/progress.ts'
import { ConnbookError, type Fault, FolderInUseError, InvalidInputError, UsageError } from '../errors.ts'
import { type ImportFormatName, importFormatNames } from '../exchange/import-formats.ts'
import { createImportReader, type ImportedRecords } from '../exchange/import-reader.ts'
import { type DataFolder, openDataFolder } from '../files/data-folder.ts'
import { commandActor, openCommandTrail } from '../folder/command-audit.ts'
import { getUsedFolder } from '../folder/used-folder.ts'
import { printable, printableJson } from '../json.ts'
import { FAULTS_MAX, IMPORT_NAMES_LISTED_MAX } from '../limits.ts'
import { createLog } from '../log.ts'
import { quoteForShell } from '../shell.ts'
import { fileStorage, openConfigurationStore } from '../storage/file/file-storage.ts'
import type { ImportMode } from '../store/import-mode.ts'
import { countsOf, type ImportPlan, planImport } from '../store/import-plan.ts'
import { counted } from '../text.ts'
import { readInput } from './import-input.ts'

/** The file has faults; nothing has changed. */
export class ImportRefusedError extends ConnbookError {
  readonly code = 'import_refused'
}

const formatsByEnding: readonly (readonly [ending: string, format: ImportFormatName])[] = [
  ['.json', 'json'],
  ['.csv', 'csv'],
  ['ssh_config', 'ssh-config'],
  ['.ssh/config', 'ssh-config'],
]

/**
 * Needs the server stopped. Makes all changes, or none.
 *
 * It throws {FolderInUseError} {FolderRefusedError} {DamagedFileError} {ImportRefusedError} {StorageFullError}; then
 * nothing has changed.
 */
export const importCommand = defineCommand({
  name: 'import',
  operands: 'FILE',
  otherOperand: '- --format FORMAT',
  summary: 'add and change many records: all of them, or none',
  examples: [
    ['connbook import hosts.csv --dry-run', 'changes nothing'],
    ['connbook import hosts.csv --mode replace', 'removes all others'],
    ['connbook import - --format ssh-config < ~/.ssh/config', ''],
  ],
  notes: [
    'A file with a fault changes nothing; the message names each fault with its line. FILE - is standard input. The format is json, csv or ssh-config: the end of the file name decides, or --format.',
  ],
  flags: ['data', 'format', 'mode', 'dryRun'],
  exitCodes: { 65: DAMAGED, 75: IN_USE },
  async run({ options, operands: [source = ''] }, context) {
    const format = formatOf(source, options.format)
    const { path } = await getUsedFolder(options.data)
    const folder = await openDataFolder(path).catch((error: unknown) => {
      throw error instanceof FolderInUseError ? inUse(error, source, format, options.mode) : error
    })
    let plan: ImportPlan
    try {
      const drafts = await readDrafts(source, format, context)
      plan = options.dryRun
        ? await planRecords(folder, drafts, options.mode)
        : await changeRecords(folder, drafts, options.mode, context)
    } finally {
      folder.release()
    }
    const text = options.dryRun ? describeTried(plan) : describeDone(plan, path)
    const state = options.dryRun ? 'nothing has changed' : 'the import is complete'
    await shown(context.print(text), 'show what was done', `; ${state}`)
  },
})

function formatOf(source: string, given: string | undefined): ImportFormatName {
  const told = given ?? formatsByEnding.find(([ending]) => source.toLowerCase().endsWith(ending))?.[1]
  const format = importFormatNames.find((known) => known === told)
  if (format !== undefined) return format
  const what = told === undefined ? `tell the format of "${source}"` : `import ${told}`
  throw new UsageError(`Cannot ${what}; say --format with one of ${importFormatNames.join(', ')}`)
}

async function readDrafts(source: string, format: ImportFormatName, context: CommandContext) {
  const reader = createImportReader(format, FAULTS_MAX)
  const progress = createProgress(`Reading ${source}`, context.screen)
  try {
    await readInput(source, context, (piece, share) => {
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

/** Changes nothing in the folder. */
async function planRecords(
  folder: DataFolder,
  drafts: ImportedRecords['drafts'],
  mode: ImportMode,
): Promise<ImportPlan> {
  const { index } = await fileStorage(folder).read(true, await readListedChanges(folder))
  return planImport(drafts, mode, index.freeze(), (name) => index.find(name), index.lastId)
}

async function changeRecords(
  folder: DataFolder,
  drafts: ImportedRecords['drafts'],
  mode: ImportMode,
  context: CommandContext,
): Promise<ImportPlan> {
  // Without what a server logs when it opens the store.
  const log = { ...createLog('text', (line) => context.screen.write(line)), info: () => {} }
  const trail = await openCommandTrail(context, folder)
  try {
    const store = await openConfigurationStore(folder, { mustExist: true, log, trail })
    try {
      const actor = commandActor('import')
      const plan = await store.importAll(actor, drafts, mode)
      await recordIfUnchanged(trail, actor, mode, plan)
      // The trail has shown why it cannot be written; the next start completes it.
      await trail.sync().catch(() => {})
      return plan
    } finally {
      await store.close()
    }
  } finally {
    await trail.close().catch((error: unknown) => log.error('audit_not_written', { reason: String(error) }))
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

/** Advises to send the file to the running server instead. */
function inUse(error: FolderInUseError, source: string, format: ImportFormatName, mode: ImportMode) {
  const body = source === '-' ? '@-' : `@${source}`
  const curl = [
    "curl -sS -H 'Authorization: Bearer TOKEN' -H 'Content-Type:'",
    `--data-binary ${quoteForShell(body)}`,
    quoteForShell(`http://localhost:8080/v1/import?format=${format}&mode=${mode}`),
  ]
  const advice = `While the server runs, send it the file: ${curl.join(' ')}`
  return new FolderInUseError(`${error.message}\n${advice}`, { cause: error })
}

function describeDone(plan: ImportPlan, path: string): string {
  const { added, modified, removed, unchanged } = countsOf(plan)
  return `Imported to ${path}: ${added} added, ${modified} modified, ${removed} removed, ${unchanged} unchanged\n`
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
