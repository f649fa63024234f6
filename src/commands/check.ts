import { resolve } from 'node:path'
import { type CommandContext, DAMAGED, defineCommand } from '../command-line/command.ts'
import { placeFlags } from '../command-line/options.ts'
import { type Print, shown } from '../command-line/output.ts'
import { ConnbookError } from '../errors.ts'
import { checkDataFolder, type DataPaths, dataPaths } from '../files/data-folder.ts'
import { realFileSystem } from '../files/file-system.ts'
import { isStandardInput } from '../files/input.ts'
import { describeBackup, readBackup } from '../state/backup-document.ts'
import { examineFolder } from '../state/examination.ts'
import { checkHasData, readBetweenRestores } from '../state/used-folder.ts'
import type { Finding } from '../storage/finding.ts'
import { counted } from '../text.ts'
import { checkOwnFolder } from './chosen-folder.ts'
import { clusterExitCodes, type UsedCluster, usedCluster } from './used-cluster.ts'

/** Damaged files were found, and named on standard output. */
export class DamageFoundError extends ConnbookError {
  readonly code = 'damage_found'
}

/**
 * Changes nothing, and may run beside a server.
 *
 * It throws {FolderRefusedError} for a folder that it cannot use, {DamageFoundError} for a damaged one, after printing
 * the damage, and {DamagedFileError} for a damaged backup.
 */
export const checkCommand = defineCommand({
  name: 'check',
  operands: '[FILE]',
  completes: 'files',
  summary: 'check whether the data folder, or a backup, is sound',
  examples: [
    ['connbook check', 'the data folder'],
    ['connbook check backup.json', 'a backup'],
    ['connbook check - < backup.json.gz', 'from standard input; unpacks it'],
    ['connbook check --etcd URL', 'a cluster'],
  ],
  notes: ['It shows what each file holds, and changes nothing. With --etcd it looks at a cluster.'],
  flags: placeFlags,
  exitCodes: { ...clusterExitCodes, 0: 'sound', 65: DAMAGED },
  async run({ options, given, operands: [file] }, context) {
    if (file === undefined) await checkOwnFolder({ options, given }, context)
    using cluster = file === undefined ? usedCluster(options) : undefined
    const print: Print = (text) => shown(context.print(text), 'show what was found')
    if (file !== undefined) await checkBackup(file, context, print)
    else if (cluster !== undefined) await checkCluster(cluster, print)
    else await checkFolder(dataPaths(resolve(options.data)), print)
  },
})

async function checkFolder(folder: DataPaths, print: Print) {
  await checkHasData(folder)
  await checkDataFolder(folder)
  const { findings, stored } = await readBetweenRestores(folder, () => examineFolder(folder))
  await print(`${folder.path}\n${renderFindings(findings)}`)
  if (stored !== undefined)
    await print(`${counted(stored.index.count, 'record')}, next id ${stored.index.lastId + 1}\n`)
  const damaged = findings.filter(({ isDamage }) => isDamage)
  if (damaged.length === 0) return print('The folder is sound\n')
  throw new DamageFoundError(
    `The folder "${folder.path}" is not sound: ${damaged.map(({ name, isNewer }) => `${name} ${isNewer ? 'newer' : 'damaged'}`).join(', ')}; standard output has the details`,
  )
}

async function checkCluster(cluster: UsedCluster, print: Print) {
  const { findings, index } = await cluster.examine()
  await print(`${cluster.place}\n${renderFindings(findings)}`)
  await print(`${counted(index.count, 'record')}, next id ${index.lastId + 1}\n`)
  await print('The cluster is sound\n')
}

async function checkBackup(file: string, context: CommandContext, print: Print) {
  const source = isStandardInput(file) ? '-' : resolve(file)
  const backup = await readBackup(source, realFileSystem, context)
  await print(
    `${source === '-' ? 'standard input' : source}\n  ${describeBackup(backup)} as they were at ${backup.createdAt}; next id ${backup.lastId + 1}\n`,
  )
  await print('The backup is sound\n')
}

/** One line for each file. */
export function renderFindings(findings: readonly Finding[]): string {
  const width = Math.max(...findings.map(({ name }) => name.length))
  const lines = findings.map(({ name, words, isDamage, isNewer }) => {
    const mark = isNewer ? 'NEWER: ' : isDamage ? 'DAMAGED: ' : ''
    return `  ${name.padEnd(width)}  ${mark}${words}\n`
  })
  return lines.join('')
}
