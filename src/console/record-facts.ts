import type { FindRecord } from '../exchange/hops.ts'
import { home } from './address.ts'
import type { App } from './app.ts'
import { type Configuration, fields } from './configuration.ts'
import { copyButton } from './copy-button.ts'
import { copyLines } from './copy-lines.ts'
import { element } from './element.ts'
import type { Fact } from './fact-list.ts'
import { labelLinks } from './label-links.ts'
import { shown } from './shown-text.ts'

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
