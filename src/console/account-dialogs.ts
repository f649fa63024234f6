import type { ScopeWord } from '../http/scope.ts'
import { explain, Refusal } from './api.ts'
import type { App } from './app.ts'
import { copyButton } from './copy-button.ts'
import { ask, askToDrop, openDialog } from './dialog.ts'
import { type Child, element } from './element.ts'
import { grouped } from './figure-text.ts'
import { type ChosenLimits, countRecords, coversAll, createGrantRows, type GrantRows } from './grant-rows.ts'
import { shown } from './shown-text.ts'
import { typedIn } from './typed-text.ts'

/** An account as the API has it. */
export interface ApiAccount {
  readonly name: string
  readonly scope: ScopeWord
  /** Absent for an account that sees all records. */
  readonly grants?: readonly string[]
  /** Set for a client whose secret was made just now. */
  readonly secret?: string
}

/** The words for each kind of accounts, and where the API has it. */
export const kinds = {
  user: {
    ...{ one: 'user', title: 'Users', path: 'v1/users/', ended: 'the sessions of this user' },
    ...{ secret: 'password', label: 'Password', charactersMin: 8 },
  },
  client: {
    ...{ one: 'client', title: 'Clients', path: 'v1/clients/', ended: 'the tokens of this client' },
    ...{ secret: 'secret', label: 'Secret', charactersMin: 16 },
  },
} as const

export type AccountTerms = (typeof kinds)[keyof typeof kinds]

/** What the account may do, by its scope. */
export const rights = {
  read: 'read',
  write: 'read and change records',
  admin: 'read and change records, and manage accounts',
} as const satisfies Record<ScopeWord, string>

/** Asks for a new account. */
export function openAddAccount(app: App, terms: AccountTerms): void {
  const { one, path, secret, label, charactersMin } = terms
  const name = element('input', {
    id: 'account-name',
    autocomplete: 'off',
    spellcheck: 'false',
    required: true,
  })
  const scope = scopeSelect('write')
  const limits = createGrantRows(app, undefined)
  const chosen = secretInput()
  const hint = one === 'client' ? '; leave it empty to have one made' : ''
  openAccountDialog(app, `Add a ${one}`, 'Add', {
    fields: [
      field(one === 'user' ? 'Name' : 'Id', name),
      field('May', scope),
      limits.dom,
      field(`${label}, at least ${charactersMin} characters${hint}`, chosen),
    ],
    inputs: { name, scope, [secret]: chosen },
    async send() {
      const confirmed = await confirmLimits(app, limits, typedIn(name), scope)
      if (confirmed === undefined) return undefined
      const { grants } = confirmed
      const isMade = one === 'client' && chosen.value === ''
      const json = {
        name: typedIn(name),
        scope: scope.value,
        grants,
        ...(isMade ? {} : { [secret]: chosen.value }),
      }
      return app.api.call(path, { method: 'POST', json })
    },
    done: () => ['Added ', shown(typedIn(name))],
  })
  name.focus()
}

/** Asks for changes of an account. */
export function openChangeAccount(app: App, terms: AccountTerms, account: ApiAccount): void {
  const { one, path, secret, label, ended, charactersMin } = terms
  const scope = scopeSelect(account.scope)
  const limits = createGrantRows(app, account.grants)
  const shownFirst = limits.read()?.grants?.join(' ')
  const chosen = secretInput()
  const rotate = element('input', { id: 'account-rotate', type: 'checkbox' })
  const isUser = one === 'user'
  openAccountDialog(app, `Change a ${one}`, 'Save', {
    fields: [
      element('p', {}, isUser ? 'User: ' : 'Client: ', element('b', {}, shown(account.name))),
      field('May', scope),
      limits.dom,
      isUser
        ? field(`New ${label.toLowerCase()}, at least ${charactersMin} characters`, chosen)
        : element('p', {}, rotate, element('label', { for: rotate.id }, ' Make a new secret')),
      element('p', { class: 'faint' }, `With a new ${label.toLowerCase()}, ${ended} end.`),
    ],
    inputs: { scope, [secret]: chosen },
    async send() {
      const confirmed = await confirmLimits(app, limits, account.name, scope)
      if (confirmed === undefined) return undefined
      const { grants } = confirmed
      const another = isUser
        ? chosen.value !== '' && { [secret]: chosen.value }
        : rotate.checked && { rotate: true }
      const json = {
        ...(scope.value === account.scope ? {} : { scope: scope.value }),
        ...(grants?.join(' ') === shownFirst ? {} : { grants: grants ?? null }),
        ...another,
      }
      return app.api.call(path + encodeURIComponent(account.name), { method: 'PATCH', json })
    },
    done: () => ['Changed ', shown(account.name)],
  })
  scope.focus()
}

interface AccountForm {
  readonly fields: readonly Child[]
  /** By the member of the API, for its faults. */
  readonly inputs: Readonly<Record<string, HTMLInputElement | HTMLSelectElement>>
  /** Undefined if a person would not confirm it. */
  send(): Promise<{ readonly text: string } | undefined>
  /** What to say when it is done. */
  done(): readonly Child[]
}

/**
 * The limits that a form has, and the question before one that it showed is gone.
 *
 * @returns Undefined if there is still something to choose, or the answer was no.
 */
async function confirmLimits(
  app: App,
  limits: GrantRows,
  name: string,
  scope: HTMLSelectElement,
): Promise<ChosenLimits | undefined> {
  const chosen = limits.read()
  if (!chosen?.isLifted) return chosen
  const mayChange = scope.value !== 'read' && coversAll(chosen.grants, 'write')
  const question = element(
    'p',
    {},
    ...['With this, ', element('b', {}, shown(name)), ' sees all records: '],
    `${grouped(await countRecords(app))} now.`,
    mayChange && ' It may change all of them, too.',
  )
  return (await ask('All records', [question], 'Take the limits away')) ? chosen : undefined
}

function openAccountDialog(
  app: App,
  title: string,
  label: string,
  { fields, inputs, send, done }: AccountForm,
) {
  const message = element('p', { class: 'fault', role: 'alert' })
  const submit = element('button', { class: 'primary' }, label)
  const form = element(
    'form',
    { novalidate: true, submit: (event) => void save(event) },
    ...fields,
    message,
    element('footer', {}, submit),
  )
  const filled = stateOf(form)
  const dialog = openDialog(title, [form], {
    className: 'password',
    canClose: () => {
      void tryToClose()
      return false
    },
  })

  async function tryToClose() {
    if (stateOf(form) === filled || (await askToDrop())) dialog.close()
  }

  async function save(event: Event) {
    event.preventDefault()
    message.textContent = ''
    submit.disabled = true
    try {
      const answer = await send()
      if (answer === undefined) return
      const [account] = (JSON.parse(answer.text) as { accounts: readonly ApiAccount[] }).accounts
      dialog.close()
      app.notices.say(...done())
      app.refresh()
      if (account?.secret !== undefined) showSecret(app, account.name, account.secret)
    } catch (error) {
      message.textContent = reasonOf(error)
      const [fault] = error instanceof Refusal ? error.faults : []
      inputs[fault?.field ?? '']?.focus()
    } finally {
      submit.disabled = false
      // Disabling the button dropped the focus.
      if (document.activeElement === document.body) submit.focus()
    }
  }
}

/** All that is typed and chosen in a form. */
function stateOf(form: HTMLFormElement): string {
  const controls = form.querySelectorAll<HTMLInputElement | HTMLSelectElement>('input, select')
  return JSON.stringify(
    Array.from(controls, (control) => ['checked' in control && control.checked, control.value]),
  )
}

function showSecret(app: App, name: string, secret: string): void {
  openDialog(
    'The secret of a client',
    [
      element(
        'div',
        { class: 'body' },
        element('p', {}, 'Client: ', element('b', {}, shown(name))),
        element(
          'p',
          {},
          element('code', { class: 'secret' }, secret),
          ' ',
          copyButton(app, 'Copy', () => secret, 'the secret', true),
        ),
        element('p', {}, 'It is shown only now: the server keeps no copy that anybody could read.'),
      ),
    ],
    { className: 'password' },
  )
}

function reasonOf(error: unknown): string {
  const faults = error instanceof Refusal ? error.faults : []
  if (faults.length === 0) return explain(error)
  return faults.map(({ field, detail }) => `The ${field} ${detail}.`).join(' ')
}

function scopeSelect(scope: ScopeWord): HTMLSelectElement {
  const options = Object.entries(rights).map(([word, text]) => new Option(text, word, false, word === scope))
  return element('select', { id: 'account-scope' }, ...options)
}

function secretInput(): HTMLInputElement {
  return element('input', { id: 'account-secret', type: 'password', autocomplete: 'new-password' })
}

function field(label: string, input: HTMLInputElement | HTMLSelectElement): HTMLElement {
  return element('div', { class: 'field' }, element('label', { for: input.id }, label), input)
}
