import { createLog, type Log } from '../../src/log.ts'

/** A log that keeps its lines for the test to look at. */
export interface MemoryLog extends Log {
  readonly lines: string[]
  /** The events logged so far, in order. */
  readonly events: string[]
}

export function createMemoryLog(): MemoryLog {
  const lines: string[] = []
  const log = createLog('json', (line) => lines.push(line))
  return {
    ...log,
    lines,
    get events() {
      return lines.map((line) => (JSON.parse(line) as { event: string }).event)
    },
  }
}
