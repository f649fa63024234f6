import { home, type View } from './address.ts'
import { explain } from './api.ts'
import type { App } from './app.ts'
import { button, element } from './element.ts'
import { openPasswordDialog } from './password-dialog.ts'
import { shown } from './shown-text.ts'

const titles: Record<View, string> = {
  records: 'Records',
  exchange: 'Import, export',
  operation: 'Status',
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
    }
    const { caller } = session
    logOut.hidden = password.hidden = caller === undefined
    account.replaceChildren(
      ...(caller === undefined ? [] : [shown(caller.account), session.mayWrite ? '' : ' · read-only']),
    )
    document.title = `${address.q || titles[address.view]} – connbook`
  }
}
