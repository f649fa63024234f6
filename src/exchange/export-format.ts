import type { Configuration } from '../store/configuration.ts'

/** How records are written for a tool, in UTF-8. */
export interface ExportFormat {
  readonly mediaType: string
  readonly fileName: string
  /** Text before, between and after the records. */
  readonly start?: string
  readonly between?: string
  readonly end?: string
  encode(record: Configuration): string
  /** Why the format cannot express a record, to complete "The record …"; undefined when it can. */
  obstacle?(record: Configuration): string | undefined
  /** The record's key in the format, unless that is the name; records with equal keys cannot be expressed. */
  keyOf?(record: Configuration): string
}

/** The host name without the brackets of an IPv6 address. */
export function bareHostname(hostname: string): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
}
