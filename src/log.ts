import { printableJson } from './json.ts'
import { timestamp } from './timestamp.ts'

export type LogFormat = 'text' | 'json'
export type LogFields = Record<string, string | number | boolean | undefined>

/** One line an event. Fields never hold a secret, a token or a cookie. */
export interface Log {
  info(event: string, fields?: LogFields): void
  warn(event: string, fields?: LogFields): void
  error(event: string, fields?: LogFields): void
}

type Level = 'info' | 'warn' | 'error'

/**
 * A log that writes lines for people (`text`) or for programs (`json`, stable names `time`, `level`, `event`).
 *
 * @param write Takes one line, newline included; by default standard error, whose failures are ignored:
 *   a closed terminal or a broken pipe must not end the server.
 */
export function createLog(format: LogFormat, write: (line: string) => void = standardError()): Log {
  const render = format === 'json' ? renderJson : renderText
  const log =
    (level: Level) =>
    (event: string, fields: LogFields = {}) =>
      write(`${render(timestamp(), level, event, fields)}\n`)
  return { info: log('info'), warn: log('warn'), error: log('error') }
}

function renderJson(time: string, level: Level, event: string, fields: LogFields): string {
  return printableJson({ time, level, event, ...fields })
}

function renderText(time: string, level: Level, event: string, fields: LogFields): string {
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
