import type { FindRecord } from '../exchange/hops.ts'
import { home } from './address.ts'
import type { App } from './app.ts'
import { type Configuration, fields } from './configuration.ts'
import { copyButton } from './copy-button.ts'
import { copyLines } from './copy-lines.ts'
import { type Child, element, mark } from './element.ts'
import { labelLinks } from './label-links.ts'
import { shown } from './shown-text.ts'

/** A title and its value. */
interface Fact {
  readonly title: string
  /** What the value says; another text is another value. */
  readonly text: string
  /** Makes what shows the value. */
  show(): readonly Child[]
}

interface Row extends Pick<Fact, 'title' | 'text'> {
  readonly dom: HTMLElement
}

/** Lines of a title and a value each. A line that stays keeps its place and its focus. */
export class FactList {
  readonly dom = element('dl', { class: 'lines' })
  #rows: readonly Row[] = []

  /** @param isMarked Whether values that differ are marked for a moment. */
  update(facts: readonly Fact[], isMarked: boolean): void {
    const before = this.#rows
    this.#rows = facts.map(({ title, text, show }) => {
      const known = before.find((row) => row.title === title)
      if (known?.text === text) return known
      const value = element('dd', {}, ...show())
      const dom = known?.dom ?? element('div')
      dom.replaceChildren(element('dt', {}, title), value)
      if (isMarked) mark(dom, 'changed')
      return { title, text, dom }
    })
    const isMoved = this.#rows.some(({ dom }, place) => dom !== before[place]?.dom)
    if (isMoved || this.#rows.length !== before.length)
      this.dom.replaceChildren(...this.#rows.map(({ dom }) => dom))
  }
}

/** Everything that a record says: its fields, its labels and its id. */
export function factsOf(app: App, record: Configuration): readonly Fact[] {
  const { id, labels = {} } = record
  const values = fields.map(({ name, heading }): Fact => {
    const text = String(record[name] ?? '')
    return { title: heading, text, show: () => [name === 'name' ? shown(text) : code(text)] }
  })
  const ofLabels: Fact = {
    title: 'Labels',
    text: JSON.stringify(labels),
    show: () => [
      element(
        'span',
        { class: 'labels' },
        ...labelLinks(labels, (label) => app.linkTo({ ...home, filters: [label] })),
      ),
    ],
  }
  const ofId: Fact = { title: 'ID', text: String(id), show: () => [code(String(id))] }
  return [...values, ofLabels, ofId].filter(({ text }) => text !== '' && text !== '{}')
}

/**
 * The lines of a record, each with its button.
 *
 * @param find Finds the records that it goes through.
 */
export function linesOf(app: App, record: Configuration, find: FindRecord): readonly Fact[] {
  return copyLines(record, find, app.api).map(({ title, text, fault, warnings = [] }) => {
    const notes = fault === undefined ? warnings : [fault]
    const sentences = notes.map((note) => element('p', { class: 'hint' }, shown(`The record ${note}.`)))
    const line = fault === undefined ? [code(text), copyButton(app, 'Copy', () => text, title)] : []
    return { title, text: [text, ...notes].join('\n'), show: () => [...line, ...sentences] }
  })
}

function code(text: string): HTMLElement {
  return element('code', {}, shown(text))
}
