import { home, type View } from './address.ts'
import { explain, Refusal } from './api.ts'
import type { App } from './app.ts'
import { openDialog } from './dialog.ts'
import { button, element } from './element.ts'
import { shown } from './shown-text.ts'

/** The API's bound. */
const CHARACTERS_MIN = 8

const titles: Record<View, string> = {
  records: 'Records',
  exchange: 'Import, export',
  activity: 'Activity',
  status: 'Status',
  accounts: 'Accounts',
}

async function logOutOf(app: App): Promise<void> {
  await app.session
    .logOut(app.api)
    .catch((error) => app.notices.say(`You are still logged in. ${explain(error)}`))
}

/** The head of the page: views, and whose session it is. */
export function createMenu(app: App, showKeys: () => void): { readonly dom: HTMLElement; update(): void } {
  const links = (Object.keys(titles) as View[]).map((view) => ({ view, dom: element('a', {}, titles[view]) }))
  const account = element('span', { class: 'account' })
  const logOut = button('Log out', () => void logOutOf(app), { class: 'quiet', hidden: true })
  const password = button('Password…', () => openPasswordDialog(app), { class: 'quiet', hidden: true })
  const dom = element(
    'header',
    { class: 'menu' },
    element('h1', {}, 'connbook'),
    element('nav', { 'aria-label': 'Views' }, ...links.map((link) => link.dom)),
    button('Shortcuts', showKeys, { class: 'quiet', title: 'Show the keyboard shortcuts (?)' }),
    account,
    password,
    logOut,
  )
  return { dom, update }

  function update() {
    const { address, session } = app
    for (const link of links) {
      link.dom.href = app.linkTo(link.view === address.view ? {} : { ...home, view: link.view })
      if (link.view === address.view) link.dom.setAttribute('aria-current', 'page')
      else link.dom.removeAttribute('aria-current')
      link.dom.hidden = link.view === 'accounts' && !session.mayAdminister
    }
    const { caller } = session
    logOut.hidden = password.hidden = caller === undefined
    account.replaceChildren(
      ...(caller === undefined ? [] : [shown(caller.account), session.mayWrite ? '' : ' · read-only']),
    )
    document.title = `${address.record || address.q || titles[address.view]} – connbook`
  }
}

/** Asks for the current password and a new one; the user's other sessions end. */
function openPasswordDialog(app: App): void {
  const present = passwordInput('present-password', 'current-password')
  const next = passwordInput('new-password', 'new-password')
  const again = passwordInput('again-password', 'new-password')
  const message = element('p', { class: 'fault', role: 'alert' })
  const submit = element('button', { class: 'primary' }, 'Change the password')
  const form = element(
    'form',
    { novalidate: true, submit: (event) => void change(event) },
    // Password managers learn from it whose password it is.
    element('input', {
      class: 'unseen',
      autocomplete: 'username',
      value: app.session.caller?.account ?? '',
      readonly: true,
      tabindex: -1,
      'aria-label': 'User',
    }),
    field('Current password', present),
    field(`New password, at least ${CHARACTERS_MIN} characters`, next),
    field('New password again', again),
    element('p', {}, 'Your other sessions end.'),
    message,
    element('footer', {}, submit),
  )
  const dialog = openDialog('Change the password', [form], { className: 'password' })
  present.focus()

  async function change(event: Event) {
    event.preventDefault()
    message.textContent = next.value === again.value ? '' : 'The two new passwords differ; type them again.'
    if (message.textContent !== '') return next.focus()
    submit.disabled = true
    try {
      await app.api.call('v1/password', {
        method: 'POST',
        json: { password: present.value, new_password: next.value },
      })
      dialog.close()
      app.notices.say('The password is changed')
    } catch (error) {
      message.textContent = reasonOf(error)
      if (error instanceof Refusal && error.code === 'wrong_password') present.select()
      else next.select()
    } finally {
      submit.disabled = false
    }
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Refusal)) return explain(error)
  if (error.code === 'wrong_password') return 'The current password is wrong.'
  const [fault] = error.faults
  if (fault !== undefined) return `The new password ${fault.detail}.`
  return explain(error)
}

function passwordInput(id: string, autocomplete: string): HTMLInputElement {
  return element('input', { id, type: 'password', autocomplete, required: true })
}

function field(label: string, input: HTMLInputElement): HTMLElement {
  return element('div', { class: 'field' }, element('label', { for: input.id }, label), input)
}
