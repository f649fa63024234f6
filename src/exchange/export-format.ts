import type { Configuration } from '../store/configuration.ts'

/** How records are written down for a tool. The text is always UTF-8. */
export interface ExportFormat {
  readonly mediaType: string
  /** What a file of the format is called. */
  readonly fileName: string
  /** What stands before the records, between two of them, and behind them. */
  readonly start?: string
  readonly between?: string
  readonly end?: string
  encode(record: Configuration): string
  /** Why the format cannot express a record, as the end of the sentence "The record …"; undefined when it can. */
  obstacle?(record: Configuration): string | undefined
  /** What a record goes by in the format, where that is not its name: two with the same cannot both be expressed. */
  keyOf?(record: Configuration): string
}

/** The address as it stands without the brackets that URLs need. */
export function bareHostname(hostname: string): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
}
