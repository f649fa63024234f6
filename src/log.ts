import { printableJson } from './json.ts'
import { timestamp } from './timestamp.ts'

export type LogFormat = 'text' | 'json'
export type LogFields = Record<string, string | number | boolean | undefined>

/** From what only helps to find a fault to what has gone wrong; a log leaves out what stands before its own level. */
export const logLevels = ['debug', 'info', 'warn', 'error'] as const
export type LogLevel = (typeof logLevels)[number]

/** One line an event. Fields never hold a secret, a token or a cookie. */
export interface Log {
  debug(event: string, fields?: LogFields): void
  info(event: string, fields?: LogFields): void
  warn(event: string, fields?: LogFields): void
  error(event: string, fields?: LogFields): void
}

export interface LogOptions {
  /** What stands before it is left out; `info` when not given. */
  readonly level?: LogLevel
  /** Whether each line begins with its priority, as the journal of systemd reads it (sd-daemon(3)). */
  readonly hasPriorities?: boolean
}

/** Those of syslog (RFC 5424 section 6.2.1). */
const priorities: Record<LogLevel, string> = { debug: '<7>', info: '<6>', warn: '<4>', error: '<3>' }

/**
 * A log that writes lines for people (`text`) or for programs (`json`, stable names `time`, `level`, `event`).
 *
 * @param write Takes one line, newline included; by default standard error, whose failures are ignored:
 *   a closed terminal or a broken pipe must not end the process.
 */
export function createLog(
  format: LogFormat,
  write: (line: string) => void = standardError(),
  { level: lowest = 'info', hasPriorities = false }: LogOptions = {},
): Log {
  const render = format === 'json' ? renderJson : renderText
  const log = (level: LogLevel) => {
    if (logLevels.indexOf(level) < logLevels.indexOf(lowest)) return () => {}
    const priority = hasPriorities ? priorities[level] : ''
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
