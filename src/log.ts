import { printableJson } from './json.ts'
import { type EventOf, type FieldsOf, type LogLevel, logLevels } from './log-events.ts'
import { journalPriorities } from './systemd-journal.ts'
import { timestamp } from './timestamp.ts'

export type LogFormat = 'text' | 'json'
export type LogFields = Record<string, string | number | boolean | undefined>

/** One line per event of the table, at its level. Fields never hold a secret, a token or a cookie. */
export type Log = {
  readonly [Level in LogLevel]: <Event extends EventOf<Level>>(event: Event, fields?: FieldsOf<Event>) => void
}

export interface LogOptions {
  /** The least important level that is written; `info` if not given. */
  readonly level?: LogLevel
  /** Whether each line begins with its priority, for systemd's journal. */
  readonly hasPriorities?: boolean
}

/**
 * Creates a log with lines for people (`text`) or for programs (`json`, stable names `time`, `level`, `event`).
 *
 * @param write Takes one line with its newline. The default is standard error and ignores its failures: a closed
 *   terminal or a broken pipe must not end the process.
 */
export function createLog(
  format: LogFormat,
  write: (line: string) => void = standardError(),
  { level: lowest = 'info', hasPriorities = false }: LogOptions = {},
): Log {
  const render = format === 'json' ? renderJson : renderText
  const log = (level: LogLevel) => {
    if (logLevels.indexOf(level) < logLevels.indexOf(lowest)) return () => {}
    const priority = hasPriorities ? journalPriorities[level] : ''
    return (event: string, fields: LogFields = {}) =>
      write(`${priority}${render(timestamp(), level, event, fields)}\n`)
  }
  return { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') }
}

function renderJson(time: string, level: LogLevel, event: string, fields: LogFields): string {
  return printableJson({ time, level, event, ...fields })
}

function renderText(time: string, level: LogLevel, event: string, fields: LogFields): string {
  let line = `${time} ${level.padEnd(5)} ${event}`
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined) line += ` ${name}=${quoteIfNeeded(String(value))}`
  }
  return line
}

function quoteIfNeeded(value: string): string {
  return /^[\w./:@%+[\]-]+$/.test(value) ? value : printableJson(value)
}

function standardError(): (line: string) => void {
  process.stderr.on('error', () => {})
  return (line) => process.stderr.write(line)
}
