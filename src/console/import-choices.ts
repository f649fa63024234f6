import { element } from './element.ts'
import type { ImportFormat } from './import-format.ts'
import { typedIn } from './typed-text.ts'

type Parameter = readonly [name: string, value: string]

const defaultUsername = (name: string): Parameter => ['default', `username:${name}`]
/** How the API takes a username for records that have none, by format. */
const usernames: Partial<Record<ImportFormat, (name: string) => Parameter>> = {
  csv: defaultUsername,
  'ssh-config': (user) => ['user', user],
  'pg-service': defaultUsername,
  ansible: defaultUsername,
}
/** In other formats, a record without a port has the usual one. */
const filling: readonly ImportFormat[] = ['csv']

/** What a person may choose for files of some formats. */
export class ImportChoices {
  readonly dom: HTMLElement
  readonly #username: HTMLInputElement
  readonly #port: HTMLInputElement
  readonly #skip: HTMLInputElement
  readonly #usernameLine: HTMLElement
  readonly #portLine: HTMLElement

  /** @param changed Called after each change by the person. */
  constructor(changed: () => void) {
    this.#username = element('input', {
      ...{ id: 'import-username', autocomplete: 'off', autocapitalize: 'none', spellcheck: 'false' },
      change: changed,
    })
    this.#port = element('input', {
      ...{ id: 'import-port', autocomplete: 'off', inputmode: 'numeric', change: changed },
    })
    this.#skip = element('input', { type: 'checkbox', change: changed })
    const label = element('label', { for: 'import-username' }, 'Username where there is none')
    this.#usernameLine = element('div', { class: 'format' }, label, this.#username)
    const portLabel = element('label', { for: 'import-port' }, 'Port where there is none')
    this.#portLine = element('div', { class: 'format' }, portLabel, this.#port)
    const skipLine = element(
      'label',
      { class: 'choice' },
      this.#skip,
      'Leave out what cannot be kept, and name it',
    )
    const lines = [this.#usernameLine, this.#portLine, skipLine]
    this.dom = element('div', { class: 'source', hidden: true }, ...lines)
  }

  /** Shows what the format has. */
  show(format: ImportFormat): void {
    this.#usernameLine.hidden = usernames[format] === undefined
    this.#portLine.hidden = !filling.includes(format)
    this.dom.hidden = false
  }

  /** What is chosen, as the API takes it. */
  parametersOf(format: ImportFormat): readonly Parameter[] {
    const [name, port] = [typedIn(this.#username), typedIn(this.#port)]
    const username = name === '' ? undefined : usernames[format]?.(name)
    return [
      ...(username === undefined ? [] : [username]),
      ...(port === '' || !filling.includes(format) ? [] : [['default', `port:${port}`] as const]),
      ...(this.#skip.checked ? [['skip', '1'] as const] : []),
    ]
  }
}
