import { type Address, home } from './address.ts'
import type { App, ViewPart } from './app.ts'
import { button, element, headRow } from './element.ts'
import { ExportRun, exportFormats, type OfferedFormat } from './export-run.ts'
import { ImportPanel } from './import-panel.ts'
import { shown } from './shown-text.ts'

/** The view to import and export records. */
export function createExchange(app: App): ViewPart {
  const importPanel = new ImportPanel(app)
  const exportPanel = new ExportPanel(app)
  const dom = element('div', { class: 'exchange' }, importPanel.dom, exportPanel.dom)
  for (const type of ['dragover', 'dragleave', 'drop'] as const) document.addEventListener(type, drag)
  return {
    dom,
    show(address) {
      exportPanel.show(address)
      takeSession()
    },
    takeSession,
  }

  function takeSession() {
    importPanel.dom.hidden = !app.session.mayWrite
  }

  function canDrop() {
    return dom.isConnected && app.session.mayWrite && document.querySelector('dialog[open]') === null
  }

  function drag(event: DragEvent) {
    const { type, dataTransfer } = event
    if (!dataTransfer?.types.includes('Files')) return
    // Otherwise the browser leaves the page for the file.
    event.preventDefault()
    const isHere = canDrop()
    dataTransfer.dropEffect = isHere ? 'copy' : 'none'
    dom.classList.toggle('dropping', isHere && type === 'dragover')
    if (isHere && type === 'drop') importPanel.drop(dataTransfer.files)
  }
}

/** Exports all records, or those that the address keeps, as a file of the chosen format. */
class ExportPanel {
  readonly dom: HTMLElement
  readonly #app: App
  readonly #what = element('p')

  constructor(app: App) {
    this.#app = app
    const run = new ExportRun(app)
    const rows = Object.entries(exportFormats).map(([format, [title, use]]) =>
      element(
        'tr',
        {},
        element('th', { scope: 'row' }, title),
        element('td', {}, use),
        element(
          'td',
          { class: 'actions' },
          button('Download', () => void run.download(format as OfferedFormat, app.address), {
            'aria-label': `Download ${title}`,
          }),
        ),
      ),
    )
    this.dom = element(
      'section',
      { 'aria-label': 'Export', class: 'panel' },
      element('h2', {}, 'Export'),
      this.#what,
      element(
        'table',
        { class: 'formats' },
        element('caption', { class: 'unseen' }, 'Formats'),
        headRow('Format', 'For', element('span', { class: 'unseen' }, 'Download')),
        element('tbody', {}, ...rows),
      ),
      run.dom,
    )
  }

  show({ q, filters }: Address) {
    const kept = [...(q === '' ? [] : [['search', q] as const]), ...filters]
    if (kept.length === 0) return this.#what.replaceChildren('Downloads all records as one file.')
    const conditions = kept.flatMap(([name, value]) => [' · ', `${name}: `, shown(value)])
    const all = element('a', { href: this.#app.linkTo({ ...home, view: 'exchange' }) }, 'All records')
    this.#what.replaceChildren('Downloads the records with ', ...conditions.slice(1), ' as one file. ', all)
  }
}
