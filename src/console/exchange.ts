import { type Address, filterParameters, home } from './address.ts'
import { type ApiResponse, explain, Refusal } from './api.ts'
import type { App, ViewPart } from './app.ts'
import { button, element, headRow } from './element.ts'
import { grouped } from './figure-text.ts'
import { ImportPanel } from './import-panel.ts'
import { faultTable } from './import-report.ts'
import { shown } from './shown-text.ts'

const formats = {
  json: ['JSON', 'programs: the list as the API answers it'],
  jsonl: ['JSON lines', 'programs: one record a line, for large lists'],
  csv: ['CSV', 'a spreadsheet'],
  'ssh-config': ['ssh_config', 'ssh, scp and sftp: ssh -F ssh_config NAME'],
  ansible: ['Ansible inventory', 'ansible -i inventory.yml'],
  'ansible-json': ['Ansible inventory as JSON', 'programs: what ansible-inventory --list prints'],
  'pg-service': ['PostgreSQL services', 'psql and libpq: PGSERVICEFILE'],
  'prometheus-sd': ['Prometheus targets', 'http_sd_configs and file_sd_configs'],
  hosts: ['Hosts', '/etc/hosts: the records with an address'],
  env: ['Variables', 'a POSIX shell: . ./connbook.env'],
} as const

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

type Format = keyof typeof formats

/** Exports all records, or those that the address keeps, as a file of the chosen format. */
class ExportPanel {
  readonly dom: HTMLElement
  readonly #app: App
  readonly #what = element('p')
  readonly #status = element('p', { role: 'status' })
  readonly #message = element('p', { class: 'fault', role: 'alert' })
  readonly #report = element('div', { class: 'report' })
  #turn = 0

  constructor(app: App) {
    this.#app = app
    const rows = Object.entries(formats).map(([format, [title, use]]) =>
      element(
        'tr',
        {},
        element('th', { scope: 'row' }, title),
        element('td', {}, use),
        element(
          'td',
          { class: 'actions' },
          button('Download', () => void this.#download(format as Format), {
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
      this.#status,
      this.#message,
      this.#report,
    )
  }

  show({ q, filters }: Address) {
    const kept = [...(q === '' ? [] : [['search', q] as const]), ...filters]
    if (kept.length === 0) return this.#what.replaceChildren('Downloads all records as one file.')
    const conditions = kept.flatMap(([name, value]) => [' · ', `${name}: `, shown(value)])
    const all = element('a', { href: this.#app.linkTo({ ...home, view: 'exchange' }) }, 'All records')
    this.#what.replaceChildren('Downloads the records with ', ...conditions.slice(1), ' as one file. ', all)
  }

  async #download(format: Format, skip: '0' | '1' = '0') {
    this.#turn += 1
    const turn = this.#turn
    const kept = filterParameters(this.#app.address)
    const path = `v1/export?${new URLSearchParams([['format', format], ['skip', skip], ...kept])}`
    this.#report.replaceChildren()
    this.#message.textContent = ''
    this.#status.textContent = `The server prepares ${formats[format][0]}…`
    try {
      const { headers } = await this.#probe(path)
      if (turn !== this.#turn) return
      const leftOut = Number(headers.get('X-Left-Out'))
      const count = grouped(Number(headers.get('X-Total-Count')))
      const rest = leftOut > 0 ? `; ${grouped(leftOut)} left out` : ''
      this.#status.textContent = `The browser saves ${formats[format][0]} with ${count} ${count === '1' ? 'record' : 'records'}${rest}.`
      // The browser writes it to the disk; the page need not hold it.
      element('a', { href: this.#app.api.url(path), download: true }).click()
    } catch (error) {
      if (turn !== this.#turn) return
      this.#status.textContent = ''
      this.#message.textContent = reasonOf(error)
      if (error instanceof Refusal && error.code === 'not_expressible') this.#offerSkip(format, error)
    }
  }

  /** Finds out how an export would be answered, before the browser would save a refusal as the file. */
  async #probe(path: string): Promise<ApiResponse> {
    const { api } = this.#app
    const probe = () => api.call(path, { method: 'HEAD', expects: [403, 422] })
    let answer = await probe()
    if (answer.status === 403) {
      // An answer to HEAD does not say why. If the session has ended, this call leads to the login.
      await api.call('v1/whoami')
      answer = await probe()
    }
    if (answer.status === 422) return api.call(path)
    if (answer.status === 403) throw new Refusal(answer)
    return answer
  }

  #offerSkip(format: Format, { faults }: Refusal) {
    const table = faultTable('Records that do not fit', faults)
    const skip = button('Download the others', () => void this.#download(format, '1'))
    this.#report.replaceChildren(table, skip)
    table.focus()
  }
}

function reasonOf(error: unknown): string {
  // What comes after it is for people with curl; the page has a button.
  if (error instanceof Refusal && error.code === 'not_expressible')
    return `${error.message.split(';', 1)[0]}.`
  if (error instanceof Refusal && error.code === '' && error.status === 403)
    return 'Your account may not export records.'
  return explain(error)
}
