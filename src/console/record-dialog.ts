import { explain, Refusal } from './api.ts'
import type { App } from './app.ts'
import { changesIn, compareVersions } from './changes.ts'
import {
  type Configuration,
  configurationPath,
  readConfiguration,
  type Tagged,
  taggedIn,
} from './configuration.ts'
import { copyButton } from './copy-button.ts'
import { copyLines } from './copy-lines.ts'
import { ask, choose } from './dialog.ts'
import { button, type Child, element, headRow } from './element.ts'
import { inShort, openFormDialog } from './form-dialog.ts'
import { openHistory } from './history-dialog.ts'
import { type Draft, type FormValues, RecordForm } from './record-form.ts'
import { shown } from './shown-text.ts'

const MINE = 'Keep mine'
const THEIRS = 'Take theirs'

/** Asks for the fields of a new record, until the server has it or it is given up. */
export function openNewRecord(app: App, draft: Partial<Draft> = {}): void {
  const form = new RecordForm(draft, { isReadOnly: false, suggested: app.labelsShown })
  openFormDialog(app, 'Add a record', form, [], {
    send: (values) => add(app, values),
    showHolder: (holder) => openRecord(app, holder),
  })
}

async function add(app: App, values: FormValues): Promise<readonly Child[]> {
  const answer = await app.api.call('configurations/', { method: 'POST', json: values })
  return ['Added ', shown(taggedIn(answer).configuration.name)]
}

/** Shows a record; who may write can change and delete it. */
export function openRecord(app: App, configuration: Configuration): void {
  const isReadOnly = !app.session.mayWrite
  const form = new RecordForm(configuration, { isReadOnly, suggested: app.labelsShown })
  /** What the form began with, or what a person has seen since: only that may be replaced. */
  let seen: Configuration = configuration
  /** Others may rename it. */
  let name = configuration.name
  let present: Promise<Tagged> | undefined = readConfiguration(app.api, name)
  present.then(showPresent, () => {})
  const lines = element('dl', { class: 'lines' })
  showLines(configuration)
  const history = button('History', () => openHistory(app, { name }), { class: 'quiet' })
  let isRemoving = false
  const remove = button('Delete…', () => void removeOnce(), { class: 'danger' })
  const duplicate = button('Duplicate', duplicateAsTyped, { class: 'quiet' })
  const title = isReadOnly ? 'Record' : 'Change a record'
  const extra = [lines, !isReadOnly && remove, !isReadOnly && duplicate, history]
  const { dom, tell } = openFormDialog(app, title, form, extra, {
    send: isReadOnly ? undefined : change,
    showHolder: (holder) => openRecord(app, holder),
  })
  let isRemoved = false
  const leave = app.live.listen((told) => {
    if (told.configuration.id !== configuration.id) return
    present = undefined
    if (told.kind === 'removed') return isRemoved || tell('Somebody has deleted this record.')
    name = told.configuration.name
    showLines(told.configuration)
    // The stream reports one's own change, too, perhaps before its answer is here.
    if (isSame(form.read(), told.configuration)) seen = told.configuration
    if (isSame(seen, told.configuration)) return
    if (isSame(form.read(), seen)) showPresent({ configuration: told.configuration })
    else tell('Somebody has changed this record. Save shows both versions.')
  })
  dom.addEventListener('close', leave)

  /** Nothing that was typed is replaced. */
  function showPresent({ configuration: now }: Pick<Tagged, 'configuration'>) {
    if (isSame(seen, now) || !isSame(form.read(), seen)) return
    form.fill(now)
    seen = now
    showLines(now)
  }

  function showLines(now: Configuration) {
    lines.replaceChildren(...copyRows(app, now))
  }

  function readPresent(): Promise<Tagged> {
    const reading = present ?? readConfiguration(app.api, name)
    present = reading
    reading.catch(() => {
      if (present === reading) present = undefined
    })
    return reading
  }

  /** @param wasLate Whether somebody else was faster than the last try. */
  async function change(values: FormValues, wasLate = false): Promise<readonly Child[] | undefined> {
    try {
      const now = await readPresent()
      if (wasLate || !isSame(seen, now.configuration)) return await decide(values, now)
      return await send(values, now)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      if (error.status === 404) return addAgain(values)
      if (error.status !== 412) throw error
      present = undefined
      return change(values, true)
    }
  }

  async function send(values: FormValues, { configuration: now, tag }: Tagged): Promise<readonly Child[]> {
    const patch = changesIn(values, now)
    if (Object.keys(patch).length === 0) return ['Nothing has changed']
    const answer = await app.api.call(configurationPath(now.name), {
      method: 'PATCH',
      json: patch,
      headers: { 'If-Match': tag },
    })
    return ['Changed ', shown(taggedIn(answer).configuration.name)]
  }

  /** Somebody else was faster. */
  async function decide(values: FormValues, now: Tagged): Promise<readonly Child[] | undefined> {
    const choice = await chooseVersion(values, now.configuration)
    seen = now.configuration
    showLines(seen)
    if (choice === THEIRS) form.fill(now.configuration)
    return choice === MINE ? change(values) : undefined
  }

  async function addAgain(values: FormValues): Promise<readonly Child[] | undefined> {
    const what = element(
      'p',
      {},
      'Somebody has deleted ',
      element('b', {}, shown(name)),
      ', or given it another name.',
    )
    const isWanted = await ask('The record is gone', [what], 'Add it again')
    return isWanted ? add(app, values) : undefined
  }

  /** What was typed goes into the new record, and this one stays as it is. */
  function duplicateAsTyped() {
    const { name: typed, ...others } = form.read()
    dom.close()
    openNewRecord(app, { ...others, name: `${typed}-copy` })
  }

  /** A second press, while the record is still read, asks nothing more. */
  async function removeOnce() {
    if (isRemoving) return
    isRemoving = true
    await removeRecord().finally(() => {
      isRemoving = false
    })
  }

  async function removeRecord() {
    try {
      const now = await readPresent()
      const what = element('p', {}, 'This deletes ', ...inShort(now.configuration), '.')
      if (!(await ask('Delete a record', [what, element('p', {}, 'It cannot be undone.')], 'Delete'))) return
      const { name: present } = now.configuration
      isRemoved = true
      await app.api.call(configurationPath(present), { method: 'DELETE', headers: { 'If-Match': now.tag } })
      dom.close()
      app.notices.say('Deleted ', shown(present))
      app.refresh()
    } catch (error) {
      isRemoved = false
      if (!(error instanceof Refusal)) return tell(explain(error))
      if (error.status === 404) return tell('Somebody has deleted this record, or given it another name.')
      if (error.status !== 412) return tell(explain(error))
      // What it is now is shown before it is deleted.
      present = undefined
      tell('Somebody has changed this record meanwhile.')
      await removeRecord()
    }
  }
}

function copyRows(app: App, configuration: Configuration): HTMLElement[] {
  return copyLines(configuration, app.api).map(({ title, text }) =>
    element(
      'div',
      {},
      element('dt', {}, title),
      element(
        'dd',
        {},
        element('code', {}, shown(text)),
        copyButton(app, 'Copy', () => text, title),
      ),
    ),
  )
}

function isSame(one: FormValues | Configuration, other: Configuration): boolean {
  return Object.keys(changesIn({ ...one, labels: one.labels ?? {} }, other)).length === 0
}

/** Shows both versions of a record side by side, and asks which shall stand: MINE, THEIRS, or neither. */
function chooseVersion(
  mine: Parameters<typeof compareVersions>[0],
  theirs: Configuration,
): Promise<string | undefined> {
  const rows = compareVersions(mine, theirs).map(({ field, mine, theirs }) =>
    element(
      'tr',
      { class: mine === theirs ? '' : 'differs' },
      element('th', { scope: 'row' }, field),
      element('td', {}, mine !== undefined && shown(mine)),
      element('td', {}, theirs !== undefined && shown(theirs)),
      element('td', {}, mine === theirs ? '' : 'differs'),
    ),
  )
  return choose(
    'Somebody else was faster',
    [
      element('p', {}, 'The record has changed since you opened it. Which version shall stand?'),
      element(
        'table',
        { class: 'versions' },
        headRow('Field', 'Yours', 'Theirs', element('span', { class: 'unseen' }, 'Difference')),
        element('tbody', {}, ...rows),
      ),
    ],
    { 'Go on editing': 'quiet', [THEIRS]: '', [MINE]: 'primary' },
    'history',
  )
}
