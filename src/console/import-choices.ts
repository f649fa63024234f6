import { element } from './element.ts'
import type { ImportFormat } from './import-format.ts'

/** How the API takes a username for records that have none, by format. */
const usernames: Partial<Record<ImportFormat, (name: string) => Readonly<Record<string, string>>>> = {
  'ssh-config': (user) => ({ user }),
  'pg-service': (name) => ({ default: `username:${name}` }),
  ansible: (name) => ({ default: `username:${name}` }),
}
const skipping: readonly ImportFormat[] = ['ssh-config']

/** What a person may choose for files of some formats. */
export class ImportChoices {
  readonly dom: HTMLElement
  readonly #username: HTMLInputElement
  readonly #skip: HTMLInputElement
  readonly #usernameLine: HTMLElement
  readonly #skipLine: HTMLElement

  /** @param changed Called after each change by the person. */
  constructor(changed: () => void) {
    this.#username = element('input', {
      ...{ id: 'import-username', autocomplete: 'off', autocapitalize: 'none', spellcheck: 'false' },
      change: changed,
    })
    this.#skip = element('input', { type: 'checkbox', change: changed })
    const label = element('label', { for: 'import-username' }, 'Username where there is none')
    this.#usernameLine = element('div', { class: 'format' }, label, this.#username)
    this.#skipLine = element(
      'label',
      { class: 'choice' },
      this.#skip,
      'Leave out what cannot be kept, and name it',
    )
    this.dom = element('div', { class: 'source', hidden: true }, this.#usernameLine, this.#skipLine)
  }

  /** Shows what the format has. */
  show(format: ImportFormat): void {
    this.#usernameLine.hidden = usernames[format] === undefined
    this.#skipLine.hidden = !skipping.includes(format)
    this.dom.hidden = this.#usernameLine.hidden && this.#skipLine.hidden
  }

  /** For the API. */
  parametersOf(format: ImportFormat): Readonly<Record<string, string>> {
    const name = this.#username.value
    return {
      ...(name === '' ? {} : usernames[format]?.(name)),
      ...(this.#skip.checked && skipping.includes(format) ? { skip: '1' } : {}),
    }
  }
}
