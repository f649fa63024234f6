import { IMPORT_ROW_CHARACTERS_MAX } from '../limits.ts'
import { faultyRow, type Row, type RowReader, tooLongRow } from './row.ts'
import { isPattern } from './ssh-condition.ts'
import { parseSshLine } from './ssh-config-line.ts'
import { isKept, NOT_KEPT, readSshHost } from './ssh-host.ts'

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
    const line = parseSshLine(text)
    if (line === undefined) return []
    const { keyword, words } = line
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
    if (!isKept(lower)) return [faultyRow(this.#line, NOT_KEPT, keyword)]
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
    const patterns = names.filter(isPattern)
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
  const host = readSshHost(name, (keyword) => values.get(keyword))
  if (host.fault !== undefined) return { line, fault: { name, ...host.fault } }
  const [labelFault] = host.labelFaults
  if (labelFault !== undefined) return { line, fault: { name, ...labelFault } }
  return { line, fields: host.fields, labelsPatch: host.labelsPatch }
}
