import { explain, Refusal } from './api.ts'
import type { App } from './app.ts'
import { type Configuration, configurationsIn } from './configuration.ts'
import { askToDrop, openDialog } from './dialog.ts'
import { button, type Child, element } from './element.ts'
import type { FormValues, RecordForm } from './record-form.ts'
import { shown } from './shown-text.ts'

export interface FormDialog {
  readonly dom: HTMLDialogElement
  /** Says something above the buttons; read aloud. */
  say(...nodes: readonly Child[]): void
}

/**
 * Shows a form until it is sent or given up; asks before it drops what was typed.
 *
 * @param send Resolves to what has been done, and the dialogue closes; undefined if it stays open.
 */
export function openFormDialog(
  app: App,
  title: string,
  form: RecordForm,
  send: (values: FormValues) => Promise<readonly Child[] | undefined>,
): FormDialog {
  const message = element('div', { class: 'fault', role: 'alert' })
  const submit = element('button', { class: 'primary' }, 'Save')
  const content = element(
    'form',
    { novalidate: true, submit: (event) => void save(event) },
    form.dom,
    message,
    element(
      'footer',
      {},
      button('Close', () => void tryToClose(), { class: 'quiet' }),
      submit,
    ),
  )
  const dom = openDialog(title, [content], {
    className: 'record',
    canClose: () => {
      void tryToClose()
      return false
    },
  })
  askBeforeReload(form, dom)
  return { dom, say }

  function say(...nodes: readonly Child[]) {
    message.replaceChildren(element('p', {}, ...nodes))
  }

  async function tryToClose() {
    if (!form.isTouched || (await askToDrop())) dom.close()
  }

  async function save(event: Event) {
    event.preventDefault()
    message.replaceChildren()
    const doubled = form.findDoubledLabels()
    form.showFaults(doubled)
    if (doubled.length > 0) return
    submit.disabled = true
    try {
      const done = await send(form.read())
      if (done === undefined) return
      dom.close()
      app.notices.say(...done)
      app.refresh()
    } catch (error) {
      say(...explanationOf(error, app))
      if (error instanceof Refusal) form.showFaults(error.faults)
    } finally {
      submit.disabled = false
      // Disabling the button dropped the focus.
      if (document.activeElement === document.body) submit.focus()
    }
  }
}

/** The browser asks before it drops what was typed into a form, while its dialogue is open. */
function askBeforeReload(form: RecordForm, dialog: HTMLDialogElement) {
  const prevent = (event: Event) => {
    if (form.isTouched) event.preventDefault()
  }
  addEventListener('beforeunload', prevent)
  dialog.addEventListener('close', () => removeEventListener('beforeunload', prevent))
}

/** A record in a line: `name (user@host:port)`. */
export function inShort({ name, hostname, port, username }: Configuration): readonly Child[] {
  return [element('b', {}, shown(name)), ' (', shown(`${username}@${hostname}:${port}`), ')']
}

/** Why a record was not saved. */
function explanationOf(error: unknown, app: App): readonly Child[] {
  if (!(error instanceof Refusal) || error.status !== 409) return [explain(error)]
  const [holder] = configurationsIn(error.body)
  if (holder === undefined) return ['Another record has the name, and this account does not see it.']
  return [
    'Another record has the name: ',
    ...inShort(holder),
    '. ',
    // What was typed stays here.
    element('a', { href: app.linkTo({ record: holder.name }), target: '_blank' }, 'Show it in a new window'),
  ]
}
