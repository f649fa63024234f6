import type { Labels } from '../store/labels.ts'
import { lookupAddress, lookupAddressWithPort } from './lookup-address.ts'

/** The label with the hosts that ssh goes through, as for its option `-J`. */
export const JUMP_LABEL = 'ssh.proxyjump'
/** The label with the path of a private key. */
export const KEY_LABEL = 'ssh.identityfile'

/** Hops on a way to a host, those of other records included. */
export const HOPS_MAX = 16

/** Records that go through another one of which a sentence names so many. */
const THROUGH_LISTED_MAX = 5

/** What is needed of a record to go to it, or through it. */
export interface HopRecord {
  readonly name: string
  readonly hostname: string
  readonly port: number
  readonly username: string
  readonly labels?: Labels | undefined
}

/** A host between. */
export interface Hop {
  /** As the label has it. */
  readonly word: string
  /** The record that it names, if any, … */
  readonly record?: HopRecord
  /** … and what it says other than that record. */
  readonly user?: string
  readonly port?: string
}

/** The hosts that lead to a record, the first one first. */
export interface Way {
  /** Those of its own label. */
  readonly own: readonly Hop[]
  /** With those that the first one itself is behind. */
  readonly all: readonly Hop[]
}

export type FindRecord = (name: string) => HopRecord | undefined

/** Such a hop needs no quotes, which ssh 9.2 would keep, and nothing can follow it. */
const PLAIN_HOP =
  /^(?:[A-Za-z0-9_][\w.-]*@)?(?:[A-Za-z0-9_][\w.-]*|\[[0-9A-Fa-f:.]+\])(?::(?<port>[1-9]\d{0,4}))?$/
const PORT_MAX = 65_535
/** The port of ssh. */
const DEFAULT_PORT = 22
/** What is wrong with other hops, to complete "a value that …". */
export const NOT_HOPS = 'is not [USER@]HOST[:PORT], or several with commas between them'
/** The user is what stands before the last `@`, as in ssh. */
const HOP_PARTS = /^(?:(?<user>.*)@)?(?<host>[^@]*?)(?::(?<port>\d+))?$/s

/** Whether ssh takes a text as one hop, for what it is. */
export function isPlainHop(word: string): boolean {
  const match = PLAIN_HOP.exec(word)
  return match !== null && Number(match.groups?.port ?? 1) <= PORT_MAX
}

/**
 * Follows the label `ssh.proxyjump` of a record. As in ssh, the hops of the first hop's own record go before it, and those
 * of the other hops' records count for nothing (ssh_config(5), ProxyJump).
 *
 * @param find Finds a record by its whole name.
 * @returns Undefined if ssh connects directly; the reason, which completes "The record …", if no connection can go so.
 */
export function resolveWay(record: HopRecord, find: FindRecord): Way | string | undefined {
  const { length } = wordsOf(record)
  if (length === 0) return undefined
  if (length > HOPS_MAX) return `goes through ${length} hops; ${HOPS_MAX} are the most`
  const own = hopsOf(record, find)
  let all = own
  const passed = [record.name]
  for (let first = own[0]?.record; first !== undefined; ) {
    passed.push(first.name)
    if (passed.indexOf(first.name) < passed.length - 1) return `goes through itself: ${chainOf(passed)}`
    const before = hopsOf(first, find)
    all = [...before, ...all]
    if (all.length > HOPS_MAX) break
    first = before[0]?.record
  }
  if (all.some((hop) => hop.record?.name === record.name))
    return `goes through itself: ${chainOf([record.name, record.name])}`
  return all.length > HOPS_MAX
    ? `goes through more than ${HOPS_MAX} hops, those of its hops included: ${chainOf(passed)}`
    : { own, all }
}

/**
 * Reads the records that one goes through, and those that these go through.
 *
 * @param read Gets a record by its name, or undefined if there is none.
 * @returns What was read, by name.
 * @throws whatever `read` throws.
 */
export async function readHops(
  record: HopRecord,
  read: (name: string) => Promise<HopRecord | undefined>,
): Promise<ReadonlyMap<string, HopRecord | undefined>> {
  const known = new Map<string, HopRecord | undefined>()
  const find = (name: string) => known.get(name)
  let present: HopRecord | undefined = record
  for (let depth = 0; present !== undefined && depth <= HOPS_MAX; depth++) {
    const names = namesInHops(present).filter((name) => !known.has(name))
    await Promise.all(names.map(async (name) => known.set(name, await read(name))))
    present = hopsOf(present, find)[0]?.record
  }
  return known
}

/**
 * Finds the records whose own label names one as a hop: as a whole, or without user and port if no record has the whole
 * for its name.
 *
 * @param records Those that may; others are left out.
 * @param read Gets a record by its name, or undefined if there is none.
 * @returns Their names.
 */
export async function findThrough(
  name: string,
  records: Iterable<HopRecord>,
  read: (name: string) => Promise<HopRecord | undefined>,
): Promise<readonly string[]> {
  const found: string[] = []
  for (const record of records) {
    if (record.name === name || !namesInHops(record).includes(name)) continue
    const isNamed = wordsOf(record).includes(name)
    const hops = isNamed ? undefined : await readHopsOf(record, read)
    if (isNamed || hops?.some((hop) => hop.record?.name === name)) found.push(record.name)
  }
  return found
}

async function readHopsOf(record: HopRecord, read: (name: string) => Promise<HopRecord | undefined>) {
  const known = new Map<string, HopRecord | undefined>()
  for (const name of namesInHops(record)) if (!known.has(name)) known.set(name, await read(name))
  return hopsOf(record, (name) => known.get(name))
}

/** The query of a list with every record that may go through one. */
export function throughQuery(name: string): string {
  // A search has few words, and a limit.
  const search = /^\S{1,200}$/.test(name) ? `&q=${encodeURIComponent(name)}` : ''
  return `label=${JUMP_LABEL}${search}`
}

/** What to know before a record is deleted or gets another name; undefined if no other goes through it. */
export function throughSentence(names: readonly string[]): string | undefined {
  if (names.length === 0) return undefined
  const listed = names.slice(0, THROUGH_LISTED_MAX).map((name) => JSON.stringify(name))
  const more = names.length > listed.length ? `, and ${names.length - listed.length} more` : ''
  return `${names.length === 1 ? '1 record goes' : `${names.length} records go`} through it: ${listed.join(', ')}${more}`
}

/** Whether ssh goes to a record through others. */
export function hasHops(record: HopRecord): boolean {
  return wordsOf(record).length > 0
}

/** What records a label may name: each hop as a whole, and without its user and port; nothing if there are too many. */
export function namesInHops(record: HopRecord): readonly string[] {
  const words = wordsOf(record)
  return (words.length > HOPS_MAX ? [] : words).flatMap((word) => {
    const { host = word } = HOP_PARTS.exec(word)?.groups ?? {}
    return host === word ? [word] : [word, host]
  })
}

/** What `ssh -J` gets. */
export interface WrittenJump {
  /** One word for a shell, in which nothing refers to a record any more. */
  readonly word: string
  /** As of `warningsOf`. */
  readonly warnings: readonly string[]
}

/**
 * The whole way to a record for a tool that knows no records.
 *
 * @param find Finds a record by its whole name.
 * @returns Undefined without the label; the reason, which completes "The record …", if ssh would refuse the way.
 */
export function writtenJump(record: HopRecord, find: FindRecord): WrittenJump | string | undefined {
  const value = jumpLabelOf(record, JUMP_LABEL)
  if (value === undefined || isNone(value))
    return value === undefined ? undefined : { word: value, warnings: [] }
  const way = resolveWay(record, find)
  return way === undefined || typeof way === 'string' ? way : writeWay(record, way)
}

/** @returns The reason, which completes "The record …", if ssh would refuse a hop as it is written out. */
export function writeWay(record: HopRecord, way: Way): WrittenJump | string {
  const words: string[] = []
  for (const hop of way.all) {
    const word = writtenHop(hop)
    if (!isPlainHop(word)) {
      return hop.record === undefined
        ? `has a label ${JUMP_LABEL} that ${NOT_HOPS}`
        : `goes through ${JSON.stringify(hop.record.name)}, whose user and host ssh cannot take for a hop`
    }
    words.push(word)
  }
  return (
    faultOfLastHop(record, words.at(-1)) ?? { word: words.join(','), warnings: warningsOf(way.all, true) }
  )
}

/**
 * Why ssh refuses a way for its last hop, to complete "The record …": it is written as the record's own address ("jumphost
 * loop"). ssh compares texts and resolves no names.
 */
export function faultOfLastHop({ hostname, port, username }: HopRecord, word = ''): string | undefined {
  const hop = HOP_PARTS.exec(word)?.groups
  const isSame =
    lookupAddress(hop?.host ?? '').toLowerCase() === lookupAddress(hostname).toLowerCase() &&
    Number(hop?.port ?? DEFAULT_PORT) === port &&
    (hop?.user ?? username) === username
  return isSame ? 'goes through its own address, which ssh refuses as a loop' : undefined
}

/**
 * What somebody who uses a way should know; each completes "The record …".
 *
 * @param isWritten Whether the hops are written out: then ssh learns nothing of the keys that their records have.
 */
export function warningsOf(hops: readonly Hop[], isWritten: boolean): readonly string[] {
  return hops.flatMap(({ word, record }) => {
    if (record === undefined)
      return /[.:]/.test(hostOf(word))
        ? []
        : [`goes through ${JSON.stringify(word)}, which is the name of no record that you see`]
    return isWritten && jumpLabelOf(record, KEY_LABEL) !== undefined
      ? [`goes through ${JSON.stringify(record.name)}, whose ${KEY_LABEL} is not used for that`]
      : []
  })
}

/** The host that ssh connects to for a hop, without brackets. */
export function hostOfHop({ word, record }: Hop): string {
  return lookupAddress(record === undefined ? hostOf(word) : record.hostname)
}

function hopsOf(record: HopRecord, find: FindRecord): readonly Hop[] {
  return wordsOf(record).map((word) => {
    if (isNone(word)) return { word }
    const whole = find(word)
    if (whole !== undefined) return { word, record: whole }
    const { user, host = '', port } = HOP_PARTS.exec(word)?.groups ?? {}
    const named = host === word || isNone(host) ? undefined : find(host)
    if (named === undefined) return { word }
    return {
      word,
      record: named,
      ...(user === undefined ? {} : { user }),
      ...(port === undefined ? {} : { port }),
    }
  })
}

/** A label `none` keeps ssh from any hop; an empty one is a fault that is found elsewhere. */
function wordsOf(record: HopRecord): readonly string[] {
  const value = jumpLabelOf(record, JUMP_LABEL)
  return value === undefined || isNone(value) ? [] : value.split(',')
}

/** ssh reads it in capitals, too. */
function isNone(text: string): boolean {
  return text.toLowerCase() === 'none'
}

function writtenHop({ word, record, user, port }: Hop): string {
  if (record === undefined) return word
  return `${user ?? record.username}@${lookupAddressWithPort(record.hostname, port ?? record.port)}`
}

function hostOf(word: string): string {
  return HOP_PARTS.exec(word)?.groups?.host ?? word
}

function jumpLabelOf({ labels }: HopRecord, key: string): string | undefined {
  return labels !== undefined && Object.hasOwn(labels, key) ? labels[key] : undefined
}

function chainOf(names: readonly string[]): string {
  return names.map((name) => JSON.stringify(name)).join(' > ')
}
