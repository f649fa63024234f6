import { openDialog } from './dialog.ts'
import { element } from './element.ts'
import { stored } from './stored.ts'

/** What browsers do by themselves. */
const others: readonly Pick<KeyCommand, 'keys' | 'help'>[] = [
  { keys: ['Enter'], help: 'open the record' },
  { keys: ['Esc'], help: 'close a dialogue' },
]
const names: Readonly<Record<string, string>> = {
  ArrowDown: '↓',
  ArrowUp: '↑',
  Escape: 'Esc',
  X: 'Shift + x',
}

/** A single key, and what it does. */
export interface KeyCommand {
  readonly keys: readonly string[]
  readonly help: string
  /** @returns Whether it did something; otherwise the browser's own meaning holds. */
  run(): boolean
}

const SETTING = 'connbook-single-keys'

/** Whether single keys do something; a person can turn them off (WCAG 2.2, 2.1.4). */
export function areKeysOn(): boolean {
  return stored.get(SETTING) !== 'off'
}

export function turnKeys(isOn: boolean): void {
  stored.set(SETTING, isOn ? 'on' : 'off')
}

/** Runs the commands of single keys, except where one types, or while a dialogue is open. */
export function listenForKeys(commands: readonly KeyCommand[]): void {
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented || !areKeysOn()) return
    if (isTypedIn(event.target) || document.querySelector('dialog[open]') !== null) return
    const command = commands.find(({ keys }) => keys.includes(event.key))
    if (command?.run()) event.preventDefault()
  })
}

function isTypedIn(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches('input, textarea, select, [contenteditable]')
}

/** Lists every single key, and turns them on or off. */
export function openKeysDialog(commands: readonly KeyCommand[]): void {
  const isOn = element('input', { type: 'checkbox', id: 'keys-on', change: () => turnKeys(isOn.checked) })
  isOn.checked = areKeysOn()
  openDialog('Shortcuts', [
    element(
      'div',
      { class: 'body' },
      element(
        'dl',
        { class: 'keys' },
        ...[...commands, ...others].map(({ keys, help }) =>
          element('div', {}, element('dt', {}, ...keys.flatMap(keyCap)), element('dd', {}, help)),
        ),
      ),
      element('p', {}, isOn, ' ', element('label', { for: 'keys-on' }, 'Single keys do this')),
    ),
  ])
}

function keyCap(key: string, place: number): (Node | string)[] {
  return [place === 0 ? '' : ' or ', element('kbd', {}, names[key] ?? key)]
}
