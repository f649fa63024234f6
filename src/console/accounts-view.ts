import {
  type AccountTerms,
  type ApiAccount,
  kinds,
  openAddAccount,
  openChangeAccount,
  rights,
} from './account-dialogs.ts'
import { explain } from './api.ts'
import type { App, ViewPart } from './app.ts'
import { ask } from './dialog.ts'
import { button, element, headRow, setText } from './element.ts'
import { describeGrants } from './grant-rows.ts'
import { shown } from './shown-text.ts'

/** The accounts of one kind: a heading, a table, and what adds one. */
interface AccountTable {
  readonly terms: AccountTerms
  readonly dom: HTMLElement
  readonly rows: HTMLTableSectionElement
}

/** The users and clients of the server, for admins. */
export class AccountsView implements ViewPart {
  readonly dom: HTMLElement
  readonly #app: App
  readonly #fault = element('p', { class: 'fault', role: 'alert' })
  readonly #tables: readonly AccountTable[]
  #reads = 0

  constructor(app: App) {
    this.#app = app
    this.#tables = Object.values(kinds).map((terms) => this.#makeTable(terms))
    this.dom = element(
      'section',
      { 'aria-label': 'Accounts', class: 'accounts' },
      element('h2', {}, 'Accounts'),
      this.#fault,
      ...this.#tables.map(({ dom }) => dom),
    )
  }

  show(): void {
    this.refresh()
  }

  refresh(): void {
    void this.#read()
  }

  #makeTable(terms: AccountTerms): AccountTable {
    const { one, title } = terms
    const rows = element('tbody')
    const actions = element('span', { class: 'unseen' }, 'Actions')
    const dom = element(
      'section',
      { 'aria-label': title },
      element('h3', {}, title),
      element('table', {}, headRow(one === 'user' ? 'Name' : 'Id', 'May', actions), rows),
      button(`Add a ${one}`, () => openAddAccount(this.#app, terms), { class: 'primary' }),
    )
    return { terms, dom, rows }
  }

  async #read(): Promise<void> {
    this.#reads += 1
    const reads = this.#reads
    try {
      const lists = await Promise.all(this.#tables.map(({ terms }) => this.#app.api.call(terms.path)))
      // A later answer is the newer one.
      if (reads !== this.#reads) return
      setText(this.#fault, '')
      for (const [i, { terms, rows }] of this.#tables.entries()) {
        const { accounts } = JSON.parse(lists[i]?.text ?? '') as { accounts: readonly ApiAccount[] }
        rows.replaceChildren(...accounts.map((account) => this.#rowOf(terms, account)))
      }
    } catch (error) {
      if (reads === this.#reads) setText(this.#fault, explain(error))
    }
  }

  #rowOf(terms: AccountTerms, account: ApiAccount): HTMLTableRowElement {
    const { name, scope, grants } = account
    const limits = grants === undefined ? '' : `; only: ${describeGrants(grants)}`
    return element(
      'tr',
      {},
      element('th', { scope: 'row' }, shown(name)),
      element('td', {}, rights[scope], shown(limits)),
      element(
        'td',
        { class: 'actions' },
        button('Change', () => openChangeAccount(this.#app, terms, account), {
          class: 'quiet',
          'aria-label': `Change ${name}`,
        }),
        button('Remove', () => void this.#remove(terms, name), {
          class: 'quiet',
          'aria-label': `Remove ${name}`,
        }),
      ),
    )
  }

  async #remove({ one, path, ended }: AccountTerms, name: string): Promise<void> {
    const question = element(
      'p',
      {},
      `The ${one} `,
      element('b', {}, shown(name)),
      ` goes, and ${ended} end.`,
    )
    if (!(await ask(`Remove a ${one}`, [question], 'Remove'))) return
    try {
      await this.#app.api.call(path + encodeURIComponent(name), { method: 'DELETE' })
      this.#app.notices.say('Removed ', shown(name))
      this.#app.refresh()
    } catch (error) {
      this.#app.notices.say(explain(error))
    }
  }
}
