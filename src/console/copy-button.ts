import type { App } from './app.ts'
import { button, element } from './element.ts'
import { shown } from './shown-text.ts'

/** @param text Made when it is pressed. */
export function copyButton(app: App, label: string, text: () => string, about: string): HTMLButtonElement {
  const attributes = { class: 'quiet copy', 'aria-label': `Copy ${about}`, title: `Copy ${about}` }
  const made = button(label, () => void copy(), attributes)
  return made

  async function copy() {
    const isCopied = (await copyByClipboard(text())) || copyBySelection(text(), made)
    app.notices.say(isCopied ? 'Copied: ' : 'Cannot copy here; copy it by hand: ', shown(text()))
  }
}

/** Browsers give the clipboard only to pages of HTTPS and of their own machine. */
async function copyByClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return false
  }
}

/** The old way, which works over plain HTTP, too. The focus returns to the button. */
function copyBySelection(text: string, beside: HTMLElement): boolean {
  const area = element('textarea', { class: 'unseen', readonly: true, 'aria-hidden': 'true' })
  area.value = text
  beside.after(area)
  area.select()
  const isCopied = document.execCommand('copy')
  area.remove()
  beside.focus()
  return isCopied
}
