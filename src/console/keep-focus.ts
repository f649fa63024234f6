/**
 * Keeps the focus where a control with it is replaced: it goes to the new control of the same text, or else to the whole.
 */
export function keepFocus(whole: HTMLElement): void {
  let focused: Element | undefined
  whole.addEventListener('focusin', ({ target }) => {
    if (target instanceof Element) focused = target
  })
  whole.addEventListener('focusout', () =>
    queueMicrotask(() => {
      // Then a person has moved it.
      if (focused?.isConnected && focused !== document.activeElement) focused = undefined
    }),
  )
  const observer = new MutationObserver(() => {
    if (focused === undefined || focused.isConnected || document.activeElement !== document.body) return
    const text = focused.textContent
    const controls = [...whole.querySelectorAll<HTMLElement>('a, button')]
    const twin = controls.find(({ textContent }) => textContent === text)
    const next = twin ?? whole
    next.focus({ preventScroll: true })
  })
  observer.observe(whole, { childList: true, subtree: true })
}
