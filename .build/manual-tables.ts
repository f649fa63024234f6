// The tables of the manual, made from those of the code.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLoginCounters, loginMetrics } from '../src/auth/secret-checks.ts'
import { exitCodes } from '../src/command-line/exit-codes.ts'
import { describeFlags, optionSpecs, serverFlags } from '../src/command-line/options.ts'
import { problemTypes } from '../src/error-types.ts'
import { dataPaths } from '../src/files/data-folder.ts'
import { createLog } from '../src/log.ts'
import { logEvents } from '../src/log-events.ts'
import { chapters } from '../src/manual/chapters.ts'
import type { Family } from '../src/metrics/family.ts'
import { processMetrics, watchEventLoop } from '../src/metrics/process-metrics.ts'
import { routes } from '../src/resources/routes.ts'
import { createSubscriptions } from '../src/resources/subscriptions.ts'
import { Scheduler } from '../src/scheduler.ts'
import { Listener } from '../src/server/listener.ts'
import type { OptionSpec } from '../src/service/option-values.ts'
import { backupMetrics } from '../src/state/served-backups.ts'
import { openConfigurationStore } from '../src/storage/file/file-storage.ts'
import { storeMetrics } from '../src/store/store-metrics.ts'

export type TableName = 'chapters' | 'calls' | 'options' | 'exit-codes' | 'problems' | 'events' | 'metrics'

/** Makes each table as the lines of a Markdown table. */
export const tables: Record<TableName, () => string[] | Promise<string[]>> = {
  chapters: chaptersTable,
  calls: callsTable,
  options: optionsTable,
  'exit-codes': exitCodesTable,
  problems: problemsTable,
  events: eventsTable,
  metrics: metricsTable,
}

/** Fills in the table behind each `<!-- table: NAME -->` of a Markdown text, in place of the one that is there. */
export async function fillTables(text: string): Promise<string> {
  const marked = /^(<!-- table: (\S+) -->\n)\n*(?:\|.*\n)*\n*/gm
  const made = new Map<string, string>()
  for (const [, , name = ''] of text.matchAll(marked)) {
    const make = Object.entries(tables).find(([known]) => known === name)?.[1]
    if (make === undefined) throw new Error(`There is no table "${name}"; there are ${Object.keys(tables)}`)
    made.set(name, (await make()).join('\n'))
  }
  return `${text.replaceAll(marked, (_, mark, name) => `${mark}\n${made.get(name)}\n\n`).trimEnd()}\n`
}

/** For the README: the links are from there. */
function chaptersTable(): string[] {
  const rows = chapters.map(({ name, summary }) => [`[${name}](src/manual/${name}.md)`, summary])
  return table(['chapter', 'about'], rows)
}

/** Path parameters are in capitals. */
function callsTable(): string[] {
  const rows = routes.map(({ method, path, summary, answers }) => {
    const shown = path.replace(/:(\w+)/g, (_, name: string) => name.toUpperCase())
    return [code(`${method} ${shown}`), summary, answers]
  })
  return table(['call', 'does', 'answers'], rows)
}

function optionsTable(): string[] {
  const rows = describeFlags(serverFlags).map(({ name, usage, variables, fallback = '', help }) => {
    const spec: OptionSpec = optionSpecs[name]
    return [
      code(usage),
      variables.map(code).join(', then '),
      spec.default === undefined ? fallback : code(spec.default),
      help,
    ]
  })
  return table(['flag', 'variable', 'default', 'what it does'], rows)
}

function exitCodesTable(): string[] {
  const rows = Object.entries(exitCodes).map(([number, { meaning }]) => [code(number), meaning])
  return table(['code', 'meaning'], rows)
}

function problemsTable(): string[] {
  const rows = Object.entries(problemTypes).map(([name, { status, meaning }]) => {
    return [String(status), code(name), meaning]
  })
  return table(['status', 'type', 'meaning'], rows)
}

function eventsTable(): string[] {
  const rows = Object.entries(logEvents).map(([event, { level, fields, meaning }]) => {
    return [code(event), level, fields.map(code).join(', '), meaning]
  })
  return table(['event', 'level', 'fields', 'meaning'], rows)
}

async function metricsTable(): Promise<string[]> {
  const rows = (await listFamilies()).map(({ name, type, labels = [], help }) => {
    // As the exposition does.
    const all = type === 'summary' ? [...labels, 'quantile'] : labels
    return [code(all.length === 0 ? name : `${name}{${all.join(',')}}`), type, help]
  })
  return table(['metric', 'type', 'meaning'], rows)
}

/** The metrics of a server, in the order of a scrape. Nothing listens, and the store is a new one. */
async function listFamilies(): Promise<Family[]> {
  const folder = await mkdtemp(join(tmpdir(), 'connbook-manual-'))
  const log = createLog('text', () => {})
  const eventLoop = watchEventLoop()
  try {
    const app = () => ({ status: 503, headers: {} })
    const listener = new Listener({ app, scheduler: new Scheduler(), log, hasAccessLog: false })
    const store = await openConfigurationStore(dataPaths(folder), { mustExist: false, log })
    await store.close()
    return [
      ...listener.metrics,
      ...createSubscriptions(store, new Scheduler(), log).metrics,
      ...storeMetrics(store, () => true),
      ...backupMetrics(() => undefined),
      ...loginMetrics(createLoginCounters()),
      ...eventLoop.metrics,
      ...processMetrics(),
    ]
  } finally {
    eventLoop.close()
    await rm(folder, { recursive: true, force: true })
  }
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  return [lineOf(head), `|${'---|'.repeat(head.length)}`, ...rows.map(lineOf)]
}

function lineOf(cells: readonly string[]): string {
  // A bar would end the cell, in code as well.
  const shown = cells.map((text) => (text === '' ? ' ' : ` ${text.replaceAll('|', '\\|')} `))
  return `|${shown.join('|')}|`
}

function code(text: string): string {
  return `\`${text}\``
}
