import { button, type Child, element } from './element.ts'

/**
 * Shows a dialogue until it is closed; Escape closes it. The focus returns to where it was, if that is still there.
 *
 * @param canClose Asked before Escape closes it.
 * @returns The open dialogue; `close()` ends it, and it is taken out of the page.
 */
export function openDialog(
  title: string,
  children: readonly Child[],
  { className = '', canClose = () => true }: { className?: string; canClose?: () => boolean } = {},
): HTMLDialogElement {
  const before = document.activeElement
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
    if (before instanceof HTMLElement && before.isConnected) before.focus()
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

/** Asks for a decision. */
export function ask(title: string, children: readonly Child[], answer: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const decide = (decision: boolean) => {
    resolve(decision)
    dialog.close()
  }
  const dialog = openDialog(title, [
    element('div', { class: 'body' }, ...children),
    element(
      'footer',
      {},
      button('Cancel', () => decide(false), { class: 'quiet' }),
      button(answer, () => decide(true), { class: 'danger' }),
    ),
  ])
  dialog.addEventListener('close', () => resolve(false))
  return promise
}
