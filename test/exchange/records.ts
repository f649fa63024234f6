import { domainToASCII } from 'node:url'
import * as fc from 'fast-check'
import { exportPieces, summarizeExport } from '../../src/exchange/export.ts'
import { type ExportFormatName, exportFormats } from '../../src/exchange/export-formats.ts'
import { runAtOnce } from '../../src/scheduler.ts'
import { Configuration, type NewConfiguration } from '../../src/store/configuration.ts'
import type { Matcher } from '../../src/store/record-filter.ts'
import { anyLabels } from '../support/properties/labels.ts'
import { hasControlCharacter, recordName } from '../support/properties/texts.ts'
import { draft } from '../support/store.ts'

/** Records with rising ids. */
export function recordsOf(drafts: readonly NewConfiguration[]): Configuration[] {
  return drafts.map((fields, i) => new Configuration(i + 1, fields))
}

/** Records that differ only in their names. */
export function named(...names: string[]): Configuration[] {
  return recordsOf(names.map((name) => draft(name)))
}

export interface Exported {
  readonly text: string
  /** Why records were left out, by name. */
  readonly obstacles: Record<string, string>
  /** Each with its record. */
  readonly warnings: readonly string[]
  /** The names of the others. */
  readonly names: string[]
}

/** @param matches Which records are meant; all without it. */
export async function exported(
  format: string,
  records: readonly Configuration[],
  matches?: Matcher,
): Promise<Exported> {
  const hasLabels = records.some(({ labels }) => labels !== undefined)
  const work = summarizeExport(
    exportFormats[format as ExportFormatName],
    { records, hasLabels, matches },
    Number.POSITIVE_INFINITY,
  )
  const summary = runAtOnce(work)
  const { bytes, count, leftOut, obstacles, warnings } = summary
  const text = [...exportPieces(records, summary)].join('')
  const reasons = Object.fromEntries(obstacles.map(({ name, reason }) => [name, reason]))
  const meant = records.filter((record) => summary.matches?.(record) !== false)
  const names = meant.map(({ name }) => name).filter((name) => !Object.hasOwn(reasons, name))
  if (bytes !== Buffer.byteLength(text)) throw new Error(`${bytes} bytes announced, but not given`)
  if (leftOut !== obstacles.length || count !== names.length) throw new Error('wrong counts')
  return {
    text,
    obstacles: reasons,
    names,
    warnings: warnings.map(({ name, reason }) => `${name} ${reason}`),
  }
}

/** Names and usernames that have a special meaning for some tool. */
export const meaningful = [
  'web 1',
  ' a ',
  'a"b',
  "it's",
  'a/b',
  'a\\b',
  'a\\',
  '日本',
  'é\u2028ü',
  'a\u00a0',
  '\ufeffbom',
  '\uffff',
  '#a',
  'a#b',
  'a #b',
  'a=b',
  '=',
  'a,b',
  'a;b',
  'a:22',
  'a:0',
  'a:65536',
  'a:b',
  '::1',
  'fe80::1',
  '[::1]',
  '[a:c]',
  'a[1:3]',
  ']',
  'a]',
  'a]b',
  'a',
  '*',
  'a?',
  '!a',
  '-a',
  '-oProxyCommand=touch x',
  'a@b',
  'ssh://a',
  '%h',
  '100%',
  '$(touch x)',
  '`touch x`',
  '$' + '{HOME}',
  '$HOME',
  '{{ 7 * 7 }}',
  '{% raw %}',
  '{# x #}',
  "{{ lookup('pipe', 'touch x') }}",
  '!unsafe x',
  '&a',
  '*a',
  '? a',
  '- a',
  '<<',
  'null',
  'true',
  '1',
  '1e3',
  '~',
  'all',
  'ungrouped',
  'localhost',
  'host',
  'ldap://x',
  "'; touch x; '",
  '__proto__',
  'constructor',
  'Web',
  'web',
] as const

/** Any valid name and username. */
export const nameAndUsername = fc.tuple(
  fc.oneof(fc.constantFrom(...meaningful), recordName),
  fc.oneof(
    fc.constantFrom(...meaningful),
    recordName.filter((text) => !hasControlCharacter(text)),
  ),
)

const someText = fc.constantFrom(...meaningful)

/** Labels that say something to a tool, or seem to. */
export const toolLabels: fc.Arbitrary<Record<string, string>> = fc.record(
  {
    group: fc.oneof(
      fc.constantFrom(
        'web',
        'web,db',
        ' db , _x1',
        '',
        ',',
        'web,web',
        'a-b',
        'eu.west',
        '1st',
        'all',
        'web,ungrouped',
        '_meta',
      ),
      someText,
    ),
    'ssh.proxyjump': fc.oneof(
      fc.constantFrom(
        'bastion',
        'ops@bastion:2222',
        'a,b@c,[2001:db8::1]:22',
        'none',
        '192.0.2.1',
        'a:0',
        'a:65536',
      ),
      someText,
    ),
    'ssh.identityfile': fc.oneof(
      fc.constantFrom('~/.ssh/id_web', '/keys/a b', 'none', '%d/x', 'a"b\\c #'),
      someText,
    ),
    'pg.dbname': fc.oneof(fc.constantFrom('app', ' app', 'app ', ''), someText),
    env: someText,
  },
  { requiredKeys: [], noNullPrototype: true },
)

/** No labels, any, or such. */
const maybeLabels = fc.oneof(
  { weight: 2, arbitrary: fc.constant({}) },
  { weight: 1, arbitrary: anyLabels },
  { weight: 2, arbitrary: toolLabels },
)

/** Records with any names, no two alike. */
export function anyRecords(maxLength: number, hostnames: readonly string[]): fc.Arbitrary<Configuration[]> {
  const one = fc
    .tuple(nameAndUsername, fc.constantFrom(...hostnames), fc.integer({ min: 1, max: 65535 }), maybeLabels)
    .map(([[name, username], hostname, port, labels]) => ({ name, hostname, port, username, labels }))
  return fc.uniqueArray(one, { selector: ({ name }) => name, maxLength }).map(recordsOf)
}

/** Valid host names of every kind. */
export const hostnames = [
  'host.example',
  '192.0.2.7',
  '2001:db8::1',
  '[2001:db8::2]',
  'fe80::1%eth0',
  'bücher.example',
  'UPPER.example.',
]

/** An address in the form that tools expect: without the brackets of a URL, and in ASCII. */
export function bare(hostname: string): string {
  const isAscii = /^[\0-\x7f]*$/.test(hostname)
  return isAscii ? hostname.replaceAll(/[[\]]/g, '') : domainToASCII(hostname)
}
