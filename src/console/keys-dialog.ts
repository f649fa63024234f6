import { openDialog } from './dialog.ts'
import { element } from './element.ts'
import { areKeysOn, type KeyCommand, turnKeys } from './keys.ts'

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

/** What browsers do by themselves. */
const others: readonly Pick<KeyCommand, 'keys' | 'help'>[] = [
  { keys: ['Enter'], help: 'open the record' },
  { keys: ['Esc'], help: 'close a dialogue' },
]

const names: Readonly<Record<string, string>> = { ArrowDown: '↓', ArrowUp: '↑' }

function keyCap(key: string, place: number): (Node | string)[] {
  return [place === 0 ? '' : ' or ', element('kbd', {}, names[key] ?? key)]
}
