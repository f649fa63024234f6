import { AccountsView } from './accounts-view.ts'
import { ActivityView } from './activity-view.ts'
import { type Address, formatAddress, parseAddress, type View } from './address.ts'
import { Api } from './api.ts'
import type { App, ViewPart } from './app.ts'
import { element } from './element.ts'
import { createExchange } from './exchange.ts'
import { keepFocus } from './keep-focus.ts'
import { type KeyCommand, listenForKeys, openKeysDialog } from './keys.ts'
import { Live } from './live.ts'
import { createMenu } from './menu.ts'
import { Notices } from './notices.ts'
import { openNewRecord } from './record-dialog.ts'
import { RecordList } from './record-list.ts'
import { RecordView } from './record-view.ts'
import { Session } from './session.ts'
import { StatusView } from './status-view.ts'
import { Undo } from './undo.ts'
import { upload } from './upload.ts'

const main = element('main', { id: 'main', tabindex: -1 })
const notices = new Notices()
const broken = element(
  'p',
  { class: 'broken', role: 'status', hidden: true },
  'Changes of others do not show at the moment. This comes back by itself.',
)
const offline = element('p', { class: 'offline', role: 'alert', hidden: true }, 'Cannot reach the server.')
const session: Session = new Session(() => {
  menu.update()
  for (const part of [...Object.values(parts), record, undo]) part.takeSession?.()
})
const api: Api = new Api(
  new URL('../', document.baseURI),
  {
    logIn: () => session.logIn(api),
    login: () => session.login,
    reached: (isReached) => {
      offline.hidden = isReached
    },
  },
  upload,
)
const live = new Live(api, {
  reset: () => shown?.refreshSoon?.(),
  connected: (isConnected) => {
    broken.hidden = isConnected
    if (!isConnected) return
    offline.hidden = true
    shown?.refreshSoon?.()
  },
})
const app: App = {
  api,
  session,
  notices,
  live,
  get undo() {
    return undo
  },
  get address() {
    return parseAddress(location.search)
  },
  get listed() {
    return list.records
  },
  linkTo: (change) => formatAddress({ ...app.address, record: '', ...change }),
  go(change, how = 'push') {
    const url = app.linkTo(change)
    if (how === 'push') history.pushState(null, '', url)
    else history.replaceState(null, '', url)
    showAddress()
  },
  refresh: () => shown?.refresh?.(),
}
const undo = new Undo(app)
const list = new RecordList(app, {
  begin: (tag) => live.begin(tag),
  add: () => openNewRecord(app),
})
const record = new RecordView(app, () => live.begin(''))
const menu = createMenu(app, () => openKeysDialog(keys))
const parts: Record<View, ViewPart> = {
  records: list,
  exchange: createExchange(app),
  activity: new ActivityView(app, () => live.begin('')),
  status: new StatusView(app),
  accounts: new AccountsView(app),
}
let shown: ViewPart | undefined

document.body.append(menu.dom, offline, broken, main, notices.dom)
document.addEventListener('click', followLink)
addEventListener('popstate', showAddress)
const keys: readonly KeyCommand[] = [
  { keys: ['/'], help: 'search', run: focusSearch },
  { keys: ['n'], help: 'add a record', run: addRecord },
  { keys: ['j', 'ArrowDown'], help: 'next record', run: () => shown === list && list.moveFocus(1) },
  { keys: ['k', 'ArrowUp'], help: 'previous record', run: () => shown === list && list.moveFocus(-1) },
  { keys: ['x'], help: 'select the record', run: () => shown === list && list.toggleFocused(false) },
  {
    keys: ['X'],
    help: 'select all from the last one to this one',
    run: () => shown === list && list.toggleFocused(true),
  },
  { keys: ['e'], help: 'edit the record', run: () => shown === record && record.edit() },
  { keys: ['Escape'], help: 'back to the list', run: showList },
  { keys: ['?'], help: 'show the keys', run: showKeys },
]
listenForKeys(keys)
keepFocus(main)
void session.begin(api).then(showAddress)

function showAddress(): void {
  const { address } = app
  const part = address.record === '' ? parts[address.view] : record
  const left = shown
  // Otherwise it is in the menu or in a dialogue.
  const { activeElement } = document
  const hasFocus = activeElement === document.body || main.contains(activeElement)
  if (part !== left) {
    left?.hide?.()
    shown = part
    main.replaceChildren(part.dom)
  }
  menu.update()
  part.show(address)
  if (part === left || left === undefined || !hasFocus) return
  if (part === record) record.takeFocus()
  else if (left === record && record.id !== undefined) list.focusRecord(record.id)
}

/** Links to other addresses of the page need no new page. */
function followLink(event: MouseEvent): void {
  if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return
  const link = event.target instanceof Element ? event.target.closest('a') : null
  if (link === null || link.target !== '' || link.hasAttribute('download') || !link.hasAttribute('href'))
    return
  const { origin, pathname, search } = new URL(link.href)
  if (origin !== location.origin || pathname !== location.pathname) return
  event.preventDefault()
  app.go(parseAddress(search) satisfies Address)
}

function focusSearch(): boolean {
  if (shown !== list) return false
  list.search.input.select()
  list.search.input.focus()
  return true
}

function showList(): boolean {
  if (shown !== record) return false
  app.go({})
  return true
}

function showKeys(): boolean {
  openKeysDialog(keys)
  return true
}

function addRecord(): boolean {
  if (shown !== list || !session.mayWrite) return false
  openNewRecord(app)
  return true
}
