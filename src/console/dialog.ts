import { button, type Child, element } from './element.ts'

/**
 * Shows a dialogue until it is closed; Escape closes it. The browser returns the focus to where it was, if that is still
 * there, when `close()` is called: at the event `close`, the next key may have moved it on.
 *
 * @param canClose Asked before Escape closes it.
 * @returns The open dialogue; `close()` ends it, and it is taken out of the page.
 */
export function openDialog(
  title: string,
  children: readonly Child[],
  {
    className = '',
    canClose = () => true,
  }: { className?: string | undefined; canClose?: () => boolean } = {},
): HTMLDialogElement {
  const dialog = element(
    'dialog',
    // Otherwise a second Escape closes it unasked.
    { 'aria-label': title, class: className, closedby: 'none', keydown: closeByEscape },
    element(
      'header',
      {},
      element('h2', {}, title),
      button('×', tryToClose, { 'aria-label': 'Close', class: 'quiet' }),
    ),
    ...children,
  )
  dialog.addEventListener('cancel', (event) => {
    event.preventDefault()
    tryToClose()
  })
  dialog.addEventListener('close', () => {
    // What was just said is still to be read.
    document.body.append(...dialog.querySelectorAll('.notices'))
    dialog.remove()
  })
  document.body.append(dialog)
  dialog.showModal()
  return dialog

  function closeByEscape(event: Event) {
    if (!(event instanceof KeyboardEvent) || event.key !== 'Escape' || event.isComposing) return
    event.preventDefault()
    event.stopPropagation()
    tryToClose()
  }

  function tryToClose() {
    if (canClose()) dialog.close()
  }
}

/** Asks whether to do something. */
export async function ask(title: string, children: readonly Child[], answer: string): Promise<boolean> {
  return (await choose(title, children, { Cancel: 'quiet', [answer]: 'danger' })) === answer
}

/** Asks whether to drop what was typed. */
export function askToDrop(): Promise<boolean> {
  return ask('Leave', [element('p', {}, 'What you typed is not saved.')], 'Drop it')
}

/**
 * Asks for a decision.
 *
 * @param answers The label of each button, with its class.
 * @returns The label of the button; undefined if the dialogue was closed otherwise.
 */
export function choose(
  title: string,
  children: readonly Child[],
  answers: Readonly<Record<string, string>>,
  className?: string,
): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>()
  const buttons = Object.entries(answers).map(([answer, className]) =>
    button(
      answer,
      () => {
        resolve(answer)
        dialog.close()
      },
      { class: className },
    ),
  )
  const parts = [element('div', { class: 'body' }, ...children), element('footer', {}, ...buttons)]
  const dialog = openDialog(title, parts, { className })
  dialog.addEventListener('close', () => resolve(undefined))
  return promise
}
