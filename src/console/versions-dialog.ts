import { compareVersions } from './changes.ts'
import type { Configuration } from './configuration.ts'
import { openDialog } from './dialog.ts'
import { button, element, headRow } from './element.ts'
import { shown } from './shown-text.ts'

/** What a person decides where somebody else was faster. */
export type Choice = 'mine' | 'theirs' | 'neither'

/** Shows both versions of a record side by side, and asks which shall stand. */
export function chooseVersion(
  mine: Parameters<typeof compareVersions>[0],
  theirs: Configuration,
): Promise<Choice> {
  const { promise, resolve } = Promise.withResolvers<Choice>()
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
  const choose = (choice: Choice) => {
    resolve(choice)
    dialog.close()
  }
  const dialog = openDialog(
    'Somebody else was faster',
    [
      element(
        'div',
        { class: 'body' },
        element('p', {}, 'The record has changed since you opened it. Which version shall stand?'),
        element(
          'table',
          { class: 'versions' },
          headRow('Field', 'Yours', 'Theirs', element('span', { class: 'unseen' }, 'Difference')),
          element('tbody', {}, ...rows),
        ),
      ),
      element(
        'footer',
        {},
        button('Go on editing', () => choose('neither'), { class: 'quiet' }),
        button('Take theirs', () => choose('theirs')),
        button('Keep mine', () => choose('mine'), { class: 'primary' }),
      ),
    ],
    { className: 'history' },
  )
  dialog.addEventListener('close', () => resolve('neither'))
  return promise
}
