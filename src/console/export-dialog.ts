import type { App } from './app.ts'
import { openDialog } from './dialog.ts'
import { button, element } from './element.ts'
import { type ExportFormatName, ExportRun, exportFormats } from './export-run.ts'
import { recordCount } from './figure-text.ts'
import type { Search } from './selection.ts'

/** Asks for the format in which selected records are saved. */
export function openExportDialog(app: App, search: Search, count: number): void {
  const format = element(
    'select',
    { id: 'export-format' },
    ...Object.entries(exportFormats).map(([value, [title]]) => element('option', { value }, title)),
  )
  const run = new ExportRun(app)
  const form = element(
    'form',
    { submit: (event) => void save(event) },
    element('p', {}, `This exports ${recordCount(count)} as one file.`),
    element('div', { class: 'format' }, element('label', { for: 'export-format' }, 'Format'), format),
    run.dom,
    element(
      'footer',
      {},
      button('Cancel', () => dialog.close(), { class: 'quiet' }),
      element('button', { class: 'primary' }, 'Export'),
    ),
  )
  const dialog = openDialog('Export', [form])
  format.focus()

  async function save(event: Event) {
    event.preventDefault()
    const saved = await run.download(format.value as ExportFormatName, search)
    if (saved === undefined || !dialog.open) return
    dialog.close()
    app.notices.say(saved)
  }
}
