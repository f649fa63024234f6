import { type Answer, explain, Refusal } from './api.ts'
import type { App } from './app.ts'
import { changesIn } from './changes.ts'
import {
  type Configuration,
  configurationPath,
  configurationsIn,
  readConfiguration,
  type Tagged,
  taggedIn,
} from './configuration.ts'
import { copyButton } from './copy-button.ts'
import { copyLines } from './copy-lines.ts'
import { ask, openDialog } from './dialog.ts'
import { button, element } from './element.ts'
import { openHistory } from './history-dialog.ts'
import { type Draft, RecordForm } from './record-form.ts'
import { shown } from './shown-text.ts'

/** Asks for the fields of a new record, until the server has it or it is given up. */
export function openNewRecord(app: App, draft: Partial<Draft> = {}): void {
  const form = new RecordForm(draft, { isReadOnly: false })
  openForm(app, 'Add a record', form, [], async (values) => {
    const answer = await app.api.call('configurations/', { method: 'POST', json: values })
    return `Added ${taggedIn(answer).configuration.name}`
  })
}

/** Shows a record; who may write can change and delete it. */
export function openRecord(app: App, configuration: Configuration): void {
  const isReadOnly = !app.session.mayWrite
  const form = new RecordForm(configuration, { isReadOnly })
  let base = readConfiguration(app.api, configuration.name)
  // Whoever changes it first meets the fault; a reader need not know.
  base.then(showPresent, () => {})
  const lines = element('dl', { class: 'lines' }, ...copyRows(app, configuration))
  const history = button('History', () => openHistory(app, configuration), { class: 'quiet' })
  const remove = button('Delete…', () => void removeRecord(), { class: 'danger' })
  const dialog = openForm(
    app,
    isReadOnly ? 'Record' : 'Change a record',
    form,
    [lines, !isReadOnly && remove, history],
    isReadOnly ? undefined : change,
  )

  function showPresent({ configuration: present }: Tagged) {
    if (JSON.stringify(present) === JSON.stringify(configuration)) return
    if (isSame(form.read(), configuration)) form.fill(present)
  }

  async function change(values: ReturnType<RecordForm['read']>): Promise<string> {
    const { configuration: before, tag } = await base.catch(
      () => (base = readConfiguration(app.api, configuration.name)),
    )
    const patch = changesIn(values, before)
    if (Object.keys(patch).length === 0) return 'Nothing has changed'
    const answer: Answer = await app.api.call(configurationPath(before.name), {
      method: 'PATCH',
      json: patch,
      headers: { 'If-Match': tag },
    })
    return `Changed ${taggedIn(answer).configuration.name}`
  }

  async function removeRecord() {
    const { name, hostname, port, username } = configuration
    const what = element(
      'p',
      {},
      'This deletes ',
      element('b', {}, shown(name)),
      ' (',
      shown(`${username}@${hostname}:${port}`),
      ').',
    )
    if (!(await ask('Delete a record', [what, element('p', {}, 'It cannot be undone.')], 'Delete'))) return
    try {
      const { tag } = await base
      await app.api.call(configurationPath(name), { method: 'DELETE', headers: { 'If-Match': tag } })
      dialog.close()
      app.notices.say(`Deleted ${name}`)
      app.refresh()
    } catch (error) {
      app.notices.say(explain(error))
    }
  }
}

/** @param send Resolves to what has been done; without it nothing can be sent. */
function openForm(
  app: App,
  title: string,
  form: RecordForm,
  extra: readonly (Node | false)[],
  send: ((values: ReturnType<RecordForm['read']>) => Promise<string>) | undefined,
): HTMLDialogElement {
  const before = JSON.stringify(form.read())
  const message = element('div', { class: 'fault', role: 'alert' })
  const submit = element('button', { class: 'primary' }, 'Save')
  const dom = element(
    'form',
    { novalidate: true, submit: (event) => void save(event) },
    form.dom,
    message,
    element(
      'footer',
      {},
      ...extra,
      button('Close', () => void tryToClose(), { class: 'quiet' }),
      send !== undefined && submit,
    ),
  )
  const dialog = openDialog(title, [dom], {
    className: 'record',
    canClose: () => {
      void tryToClose()
      return false
    },
  })
  return dialog

  async function tryToClose() {
    const isTouched = send !== undefined && JSON.stringify(form.read()) !== before
    if (!isTouched || (await ask('Leave', [element('p', {}, 'What you typed is not saved.')], 'Drop it')))
      dialog.close()
  }

  async function save(event: Event) {
    event.preventDefault()
    if (send === undefined) return
    message.replaceChildren()
    const doubled = form.findDoubledLabels()
    form.showFaults(doubled)
    if (doubled.length > 0) return
    submit.disabled = true
    try {
      const done = await send(form.read())
      dialog.close()
      app.notices.say(done)
      app.refresh()
    } catch (error) {
      message.replaceChildren(...explanationOf(error))
      if (error instanceof Refusal) form.showFaults(error.faults)
    } finally {
      submit.disabled = false
    }
  }

  function explanationOf(error: unknown): Node[] {
    if (!(error instanceof Refusal) || error.status !== 409) return [element('p', {}, explain(error))]
    const [holder] = configurationsIn(error.body)
    if (holder === undefined) return [element('p', {}, 'The name is taken.')]
    const { name, hostname, port, username } = holder
    return [
      element(
        'p',
        {},
        'Another record has the name: ',
        shown(name),
        ' (',
        shown(`${username}@${hostname}:${port}`),
        ').',
      ),
      button('Show that record', () => openRecord(app, holder)),
    ]
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

function isSame(values: ReturnType<RecordForm['read']>, configuration: Configuration): boolean {
  return Object.keys(changesIn(values, configuration)).length === 0
}
