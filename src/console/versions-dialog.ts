import { compareVersions, type Version } from './changes.ts'
import type { Configuration } from './configuration.ts'
import { choose } from './dialog.ts'
import { element, headRow } from './element.ts'
import { shown } from './shown-text.ts'

const MINE = 'Keep mine'
const THEIRS = 'Take theirs'

/**
 * Shows both versions of a record side by side, and asks which shall stand.
 *
 * @returns Undefined for neither: one goes on editing.
 */
export async function chooseVersion(
  mine: Version,
  theirs: Configuration,
): Promise<'mine' | 'theirs' | undefined> {
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
  const choice = await choose(
    'Somebody else was faster',
    [
      element('p', {}, 'The record has changed since you opened it. Which version shall stand?'),
      element(
        'table',
        { class: 'versions' },
        headRow('Field', 'Yours', 'Theirs', element('span', { class: 'unseen' }, 'Difference')),
        element('tbody', {}, ...rows),
      ),
    ],
    { 'Go on editing': 'quiet', [THEIRS]: '', [MINE]: 'primary' },
    'history',
  )
  return choice === MINE ? 'mine' : choice === THEIRS ? 'theirs' : undefined
}
