import { explain } from './api.ts'
import type { App } from './app.ts'
import { type Child, element, svgElement } from './element.ts'
import { shown } from './shown-text.ts'

/**
 * @param text Made when it is pressed. What it throws is shown.
 * @param isSecret Whether the notice must not repeat it.
 */
export function copyButton(
  app: App,
  label: Child,
  text: () => string | Promise<string>,
  about: string,
  isSecret = false,
): HTMLButtonElement {
  const title = `Copy ${about}`
  const attributes = { type: 'button', class: 'quiet copy', 'aria-label': title, title }
  const made = element('button', { ...attributes, click: () => void copy() }, label)
  return made

  async function copy() {
    try {
      const copied = await text()
      const isCopied = (await copyByClipboard(copied)) || copyBySelection(copied, made)
      const what = isSecret ? about : shown(copied)
      app.notices.say(isCopied ? 'Copied: ' : 'Cannot copy here; copy it by hand: ', what)
    } catch (error) {
      app.notices.say('Cannot copy: ', explain(error))
    }
  }
}

/** A picture of two sheets. */
export function copyIcon(): SVGElement {
  const sheets = svgElement('path', { d: 'M5 5h9v9H5zM11 5V2H2v9h3' })
  return svgElement('svg', { viewBox: '0 0 16 16', class: 'icon', 'aria-hidden': 'true' }, sheets)
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
