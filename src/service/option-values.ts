import { isIP, isIPv6 } from 'node:net'
import { DURATION_SECONDS_MAX } from '../limits.ts'
import { type Network, UNIX_PEER } from '../server/proxy-trust.ts'
import { adviceForTilde } from '../shell.ts'
import { eitherOf } from '../text.ts'

/** Smallest `--audit-keep`, for all five files of the audit trail together. */
const AUDIT_KEEP_BYTES_MIN = 10 * 1024 * 1024
const AUDIT_KEEP_BYTES_MAX = 1000 * 1024 * 1024 * 1024

// Each reads the value of a flag, and throws a RangeError that ends the sentence "…, because it must be".

const DAY_SECONDS = 24 * 60 * 60

/**
 * A path; "~" at its beginning was meant for a shell, and a folder of that name is hardly ever wanted.
 *
 * @param before What stands before the path in the value.
 */
export function parsePath(text: string, before = ''): string {
  const advice = adviceForTilde(text, before)
  if (advice !== undefined)
    throw new RangeError(`a path without "~" at its beginning, which no shell has replaced; ${advice}`)
  const left = whatIsLeft(text)
  if (left !== undefined) throw new RangeError(`a path without ${left}`)
  return text
}

/** Ends of a value that a file of settings leaves there, and a shell would not. */
function whatIsLeft(text: string): string | undefined {
  if (/\p{Cc}/u.test(text))
    return 'control characters; if a carriage return is at its end, save the file of settings with line ends of Unix'
  if (/^(["']).*\1$/s.test(text))
    return 'quotation marks around it, which are part of the value in a file of settings'
  return undefined
}

export function parsePort(text: string): number {
  if (!/^(0|[1-9]\d{0,4})$/.test(text) || Number(text) > 65535)
    throw new RangeError('a number from 0 to 65535, without leading zeros')
  return Number(text)
}

export function parseHost(text: string): string {
  if (isIP(text) === 0 && !/^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/.test(text)) {
    throw new RangeError('an IP address, without brackets, or a host name')
  }
  return text
}

export function parseListen(text: string): string {
  const path = /^unix:([^\0]+)$/.exec(text)?.[1]
  if (path === undefined)
    throw new RangeError('unix: and the path of a socket, such as unix:/run/connbook/http')
  return parsePath(path, 'unix:')
}

/** With commas between them. An address alone is a network of its own. */
export function parseNetworks(text: string): Network[] {
  return text.split(',').map((network) => {
    if (network.trim() === UNIX_PEER) return { address: UNIX_PEER, bits: 0 }
    const [, address = '', given] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(network.trim()) ?? []
    const bitsMax = isIPv6(address) ? 128 : 32
    const bits = Number(given ?? bitsMax)
    if (isIP(address) === 0 || address.includes('%') || bits > bitsMax) {
      throw new RangeError('an address or a network, such as 10.0.0.0/8 or fd00::/8, or unix')
    }
    return { address, bits }
  })
}

export function parseBasePath(text: string): string {
  const path = text.replace(/\/$/, '')
  if (path !== '' && !/^(\/(?!\.{1,2}(\/|$))[\w.~-]+)+$/.test(path)) {
    throw new RangeError('a path like /connbook, of letters, digits, "-", ".", "_" and "~"')
  }
  return path
}

/** @returns Without a slash at the end. */
export function parsePublicUrl(text: string): string {
  const url = /^https?:\/\/[^/?#@\\\s]+(\/[\w.~-]+)*\/?$/i.test(text) ? URL.parse(text) : null
  if (url === null)
    throw new RangeError('the URL that clients use, without a query, such as https://book.example.net')
  return url.href.replace(/\/$/, '')
}

export function parseDuration(text: string): number {
  const match = /^(\d{1,9})([smhd])$/.exec(text)
  const unitSeconds = { s: 1, m: 60, h: 3600, d: DAY_SECONDS }[match?.[2] ?? ''] ?? 0
  const seconds = Number(match?.[1]) * unitSeconds
  if (!(seconds >= 1 && seconds <= DURATION_SECONDS_MAX)) {
    throw new RangeError('a time such as 90s, 15m, 12h or 30d, from 1s to 400d')
  }
  return seconds
}

/** In bytes; the units are powers of 1024. */
export function parseSize(text: string): number {
  const match = /^(\d{1,9})([MG])$/.exec(text)
  const unitBytes = { M: 1024 ** 2, G: 1024 ** 3 }[match?.[2] ?? ''] ?? 0
  const bytes = Number(match?.[1]) * unitBytes
  if (!(bytes >= AUDIT_KEEP_BYTES_MIN && bytes <= AUDIT_KEEP_BYTES_MAX)) {
    throw new RangeError('a size such as 80M or 1G, from 10M to 1000G')
  }
  return bytes
}

export function parseChoice<Choice extends string>(text: string, choices: readonly Choice[]): Choice {
  const choice = choices.find((known) => known === text)
  if (choice === undefined) throw new RangeError(eitherOf(choices))
  return choice
}

export function parseSwitch(text: string): boolean {
  if (['true', '1', 'yes', 'on'].includes(text)) return true
  if (['false', '0', 'no', 'off'].includes(text)) return false
  throw new RangeError('true or false')
}

/** One line of the table from which flags, environment, defaults and help are made. */
export interface OptionSpec {
  readonly flag: string
  /** Placeholder of the value in the help; undefined for a switch. */
  readonly placeholder?: string
  readonly help: string
  /** The default, as typed; undefined when there is none. */
  readonly default?: string
  /** What happens when there is no default and nothing is given. */
  readonly otherwise?: string
  /** The allowed values, where they are few. */
  readonly choices?: readonly string[]
  /** Whether the flag may be repeated; its values are joined by commas. */
  readonly isRepeatable?: boolean
  /** Whether the flag may be repeated, and each value stands for itself. */
  readonly isList?: true
  /** A variable that is read last; the only one of an option that is not of the server. */
  readonly lastVariable?: string
  /**
   * Throws a RangeError that ends the sentence "…, because it must be". Without it, an option without a placeholder is a
   * switch, one with choices is one of them, and any other is text.
   */
  parse?(text: string): unknown
}

/** Reads the value of an option. @throws {RangeError} as `parse` of its row does. */
export function parseOption(spec: OptionSpec, text: string): unknown {
  if (spec.parse !== undefined) return spec.parse(text)
  if (spec.placeholder === undefined) return parseSwitch(text)
  return spec.choices === undefined ? text : parseChoice(text, spec.choices)
}

/** What `parseOption` returns. */
type ValueOf<Spec> = Spec extends { parse(text: string): infer Value }
  ? Value
  : Spec extends { placeholder: string }
    ? Spec extends { choices: readonly (infer Choice)[] }
      ? Choice
      : string
    : boolean

/**
 * The options of a table, parsed: undefined where one takes a value, has no default and is not given; a list where it
 * may be given several times.
 */
export type ParsedOptions<Table extends Readonly<Record<string, OptionSpec>>> = {
  readonly [Name in keyof Table]: Table[Name] extends { isList: true }
    ? readonly ValueOf<Table[Name]>[]
    : ValueOf<Table[Name]> | AbsentIn<Table[Name]>
}

type AbsentIn<Spec> = Spec extends { placeholder: string; default?: never } ? undefined : never
