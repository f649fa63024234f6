import { createLog, type Log } from '../../src/log.ts'

/** A log that keeps its lines for the test to look at. */
export interface MemoryLog extends Log {
  readonly lines: string[]
  /** The events logged so far, in order. */
  readonly events: string[]
}

export function createMemoryLog(): MemoryLog {
  const lines: string[] = []
  /** Each line is parsed once, however often a test looks. */
  const events: string[] = []
  const log = createLog('json', (line) => lines.push(line))
  return {
    ...log,
    lines,
    get events() {
      for (const line of lines.slice(events.length))
        events.push((JSON.parse(line) as { event: string }).event)
      return [...events]
    },
  }
}
