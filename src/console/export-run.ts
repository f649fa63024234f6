import { type ApiResponse, explain, Refusal } from './api.ts'
import type { App } from './app.ts'
import { openDialog } from './dialog.ts'
import { button, element } from './element.ts'
import { grouped, recordCount } from './figure-text.ts'
import { faultTable } from './import-report.ts'
import { queryOf, type Search } from './selection.ts'

export const exportFormats = {
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

export type OfferedFormat = keyof typeof exportFormats

/** Has the browser save records as a file, and says what comes of it. */
export class ExportRun {
  readonly dom: HTMLElement
  readonly #app: App
  readonly #status = element('p', { role: 'status' })
  readonly #message = element('p', { class: 'fault', role: 'alert' })
  readonly #report = element('div', { class: 'report' })
  #turn = 0

  constructor(app: App) {
    this.#app = app
    this.dom = element('div', { class: 'report' }, this.#status, this.#message, this.#report)
  }

  /** A later call ends an earlier one. @returns What the browser saves; undefined if that is nothing. */
  async download(format: OfferedFormat, search: Search, skip: '0' | '1' = '0'): Promise<string | undefined> {
    this.#turn += 1
    const turn = this.#turn
    const [title] = exportFormats[format]
    const path = `v1/export?format=${format}&skip=${skip}&${queryOf(search)}`
    this.#report.replaceChildren()
    this.#message.textContent = ''
    this.#status.textContent = `The server prepares ${title}…`
    try {
      const { headers } = await this.#probe(path)
      if (turn !== this.#turn) return undefined
      const leftOut = Number(headers.get('X-Left-Out'))
      const rest = leftOut > 0 ? `; ${grouped(leftOut)} left out` : ''
      const saved = `The browser saves ${title} with ${recordCount(Number(headers.get('X-Total-Count')))}${rest}.`
      this.#status.textContent = saved
      // The browser writes it to the disk; the page need not hold it.
      element('a', { href: this.#app.api.url(path), download: true }).click()
      return saved
    } catch (error) {
      if (turn !== this.#turn) return undefined
      this.#status.textContent = ''
      this.#message.textContent = reasonOf(error)
      if (error instanceof Refusal && error.code === 'not_expressible') this.#offerSkip(format, search, error)
      return undefined
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

  #offerSkip(format: OfferedFormat, search: Search, { faults }: Refusal) {
    const table = faultTable('Records that do not fit', faults)
    const skip = button('Download the others', () => void this.download(format, search, '1'))
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
    const saved = await run.download(format.value as OfferedFormat, search)
    if (saved === undefined || !dialog.open) return
    dialog.close()
    app.notices.say(saved)
  }
}
