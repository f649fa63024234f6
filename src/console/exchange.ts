import type { App, ViewPart } from './app.ts'
import { element } from './element.ts'
import { ExportPanel } from './export-panel.ts'
import { ImportPanel } from './import-panel.ts'

/** The view to bring records in and to take them out. */
export function createExchange(app: App): ViewPart {
  const importPanel = new ImportPanel(app)
  const dom = element('div', { class: 'exchange' }, importPanel.dom, new ExportPanel(app).dom)
  document.addEventListener('dragover', showDrop)
  document.addEventListener('dragleave', endDrop)
  document.addEventListener('drop', drop)
  return { dom, show: takeSession, takeSession }

  function takeSession() {
    importPanel.dom.hidden = !app.session.mayWrite
  }

  function canDrop() {
    return dom.isConnected && app.session.mayWrite && document.querySelector('dialog[open]') === null
  }

  function showDrop(event: DragEvent) {
    if (!event.dataTransfer?.types.includes('Files')) return
    // Otherwise the browser leaves the page for the file.
    event.preventDefault()
    event.dataTransfer.dropEffect = canDrop() ? 'copy' : 'none'
    dom.classList.toggle('dropping', canDrop())
  }

  function endDrop() {
    dom.classList.remove('dropping')
  }

  function drop(event: DragEvent) {
    endDrop()
    const { dataTransfer } = event
    if (!dataTransfer?.types.includes('Files')) return
    event.preventDefault()
    if (canDrop()) importPanel.drop(dataTransfer.files)
  }
}
