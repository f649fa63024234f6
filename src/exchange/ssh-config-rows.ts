import { IMPORT_ROW_CHARACTERS_MAX } from '../limits.ts'
import { parseDigits } from '../store/fields.ts'
import type { LabelsPatch } from '../store/labels.ts'
import { faultyRow, type Row, type RowReader, tooLongRow } from './row.ts'
import { sshLabels } from './ssh-labels.ts'

const DEFAULT_PORT = 22
const keywords = ['HostName', 'Port', 'User', ...sshLabels.map(({ keyword }) => keyword)]
const KEPT = `${keywords.slice(0, -1).join(', ')} and ${keywords.at(-1)}`
const known = new Set(keywords.map((keyword) => keyword.toLowerCase()))

interface Section {
  readonly line: number
  readonly names: readonly string[]
  readonly values: Map<string, string>
}

/**
 * Reads the `Host` sections of ssh_config(5), one record per name. Faults are patterns, `Match`, `Include`, and every
 * keyword that a record cannot keep.
 */
export function createSshConfigReader(): RowReader {
  return new SshConfigReader()
}

class SshConfigReader implements RowReader {
  #rest = ''
  #line = 0
  #section: Section | undefined
  /** In a section with a faulty first line; its values are skipped. */
  #isInFault = false
  #isOver = false
  #hasHost = false

  read(piece: string): Row[] {
    const lines = (this.#rest + piece).split('\n')
    this.#rest = lines.pop() ?? ''
    const rows: Row[] = []
    for (const line of lines) rows.push(...this.#takeLine(line))
    if (this.#rest.length > IMPORT_ROW_CHARACTERS_MAX) {
      if (!this.#isOver) rows.push(tooLongRow(this.#line + 1))
      this.#isOver = true
    }
    if (this.#isOver) this.#rest = ''
    return rows
  }

  end(): Row[] {
    const rows = [...this.#takeLine(this.#rest), ...this.#endSection()]
    // An empty file is a fault, because with --mode replace it would remove every record.
    return this.#hasHost || this.#isOver ? rows : [...rows, faultyRow(1, 'has no Host', 'document')]
  }

  #takeLine(text: string): Row[] {
    this.#line += 1
    if (this.#isOver) return []
    const bare = trimmed(this.#line === 1 ? text.replace(/^\ufeff/, '') : text)
    if (bare === '' || bare.startsWith('#')) return []
    const [, keyword = '', rest = ''] = /^([^ \t=]*)(?:[ \t]*=[ \t]*|[ \t]+)?(.*)$/su.exec(bare) ?? []
    const words = splitWords(rest)
    if (words === undefined) return [faultyRow(this.#line, 'has a quote without an end')]
    return this.#takeKeyword(keyword, words)
  }

  #takeKeyword(keyword: string, words: readonly string[]): Row[] {
    const lower = keyword.toLowerCase()
    if (lower === 'host') {
      this.#hasHost = true
      return [...this.#endSection(), ...this.#beginSection(words)]
    }
    if (lower === 'match' || lower === 'include') {
      const fault = faultyRow(this.#line, 'cannot be taken: only sections for literal names can', keyword)
      if (lower === 'include') return [fault]
      this.#isInFault = true
      return [...this.#endSection(), fault]
    }
    if (!known.has(lower)) return [faultyRow(this.#line, `cannot be kept: only ${KEPT} can`, keyword)]
    const [value, ...others] = words
    if (value === undefined || others.length > 0)
      return [faultyRow(this.#line, 'must have one value', keyword)]
    if (this.#section === undefined)
      return this.#isInFault ? [] : [faultyRow(this.#line, 'stands before the first Host', keyword)]
    if (this.#section.values.has(lower))
      return [faultyRow(this.#line, 'is given twice for the same Host', keyword)]
    this.#section.values.set(lower, value)
    return []
  }

  #beginSection(names: readonly string[]): Row[] {
    const patterns = names.filter((name) => /[*?]|^!/.test(name))
    this.#isInFault = patterns.length > 0 || names.length === 0
    if (names.length === 0) return [faultyRow(this.#line, 'names nothing', 'Host')]
    if (!this.#isInFault) this.#section = { line: this.#line, names, values: new Map() }
    return patterns.map((name) =>
      faultyRow(this.#line, `${JSON.stringify(name)} is a pattern; only literal names can be taken`, 'Host'),
    )
  }

  #endSection(): Row[] {
    const section = this.#section
    this.#section = undefined
    return section === undefined ? [] : section.names.map((name) => rowOf(section, name))
  }
}

function rowOf({ line, values }: Section, name: string): Row {
  const faulty = (detail: string, field: string): Row => ({ line, fault: { name, field, detail } })
  const hostname = expandHostname(values.get('hostname') ?? name, name)
  if (hostname === undefined) {
    const detail = 'holds a token that only ssh can expand; of those, %h and %% are known'
    return faulty(detail, 'HostName')
  }
  const username = values.get('user')
  if (username === undefined) return faulty('is missing; a configuration has a username', 'User')
  // Since version 10 OpenSSH expands both, so the meaning depends on the version.
  if (/%|\$\{/.test(username)) return faulty('holds "%" or "${", which ssh may expand', 'User')
  const labelsPatch: { [key: string]: LabelsPatch[string] } = {}
  for (const { key, keyword, fault } of sshLabels) {
    const value = values.get(keyword.toLowerCase())
    const detail = value === undefined ? undefined : fault(value)
    if (detail !== undefined) return faulty(detail, keyword)
    // Without the line, ssh would not use what the label says.
    labelsPatch[key] = value ?? null
  }
  const port = values.get('port')
  return {
    line,
    fields: { name, hostname, port: port === undefined ? DEFAULT_PORT : parseDigits(port), username },
    labelsPatch,
  }
}

/** Undefined for an unknown token. */
function expandHostname(text: string, name: string): string | undefined {
  if (text.replaceAll(/%[%h]/g, '').includes('%')) return undefined
  return text.replace(/%([%h])/g, (_, token) => (token === 'h' ? name : '%'))
}

/** Splits arguments as OpenSSH does since 8.7; undefined when a quote has no end. */
function splitWords(text: string): string[] | undefined {
  const words: string[] = []
  let word: string | undefined
  let quote = ''
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at)
    const next = text.charAt(at + 1)
    if (character === '\\' && (`'"\\`.includes(next || '-') || (quote === '' && next === ' '))) {
      word = (word ?? '') + next
      at += 1
    } else if (quote === '' && (character === ' ' || character === '\t')) {
      if (word !== undefined) words.push(word)
      word = undefined
    } else if (quote === '' && character === '#' && word === undefined) break
    else if (quote === '' && (character === '"' || character === "'")) {
      quote = character
      word ??= ''
    } else if (character === quote) quote = ''
    else word = (word ?? '') + character
  }
  if (quote !== '') return undefined
  return word === undefined ? words : [...words, word]
}

/** Without blanks at both ends. No expression: it would look at each run of blanks again from each of its places. */
function trimmed(line: string): string {
  let end = line.length
  while (end > 0 && ' \t\r\f'.includes(line.charAt(end - 1))) end -= 1
  return line.slice(0, end).replace(/^[ \t]+/, '')
}
