import type { Labels } from '../store/labels.ts'
import { element } from './element.ts'
import { shown } from './shown-text.ts'

/**
 * A link for each label.
 *
 * @param linkTo Makes the link to the records that have a label, which is a filter.
 */
export function labelLinks(
  labels: Labels,
  linkTo: (label: readonly ['label', string]) => string,
): HTMLElement[] {
  return Object.entries(labels).map(([key, value]) =>
    element(
      'a',
      {
        class: 'label',
        href: linkTo(['label', `${key}=${value}`]),
        title: 'Show only records with this label',
      },
      key,
      value !== '' && '=',
      value !== '' && shown(value),
    ),
  )
}
