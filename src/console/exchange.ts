import type { App, ViewPart } from './app.ts'
import { element } from './element.ts'
import { ExportPanel } from './export-panel.ts'
import { ImportPanel } from './import-panel.ts'

/** The view to import and export records. */
export function createExchange(app: App): ViewPart {
  const importPanel = new ImportPanel(app)
  const dom = element('div', { class: 'exchange' }, importPanel.dom, new ExportPanel(app).dom)
  for (const type of ['dragover', 'dragleave', 'drop'] as const) document.addEventListener(type, drag)
  return { dom, show: takeSession, takeSession }

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
