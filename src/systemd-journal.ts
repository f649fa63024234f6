import { fstatSync } from 'node:fs'

const STANDARD_ERROR = 2

/** Severities of syslog (RFC 5424 section 6.2.1), as systemd's journal takes them at the beginning of a line (sd-daemon(3)). */
export const journalPriorities = { debug: '<7>', info: '<6>', warn: '<4>', error: '<3>' } as const

/** Whether standard error is the stream that `JOURNAL_STREAM` names by device and inode (systemd.exec(5)). */
export function isSystemdJournal({ JOURNAL_STREAM }: NodeJS.ProcessEnv): boolean {
  if (JOURNAL_STREAM === undefined) return false
  const { dev, ino } = fstatSync(STANDARD_ERROR, { bigint: true })
  return JOURNAL_STREAM === `${dev}:${ino}`
}
