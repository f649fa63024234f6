import type { App } from './app.ts'
import { button, element, setText } from './element.ts'

/** What each right is called. */
const rightTexts = { read: 'read', write: 'change' } as const

interface GrantFields {
  readonly right: keyof typeof rightTexts
  readonly prefix: string
  readonly labels: readonly string[]
}

/** The grants of an account in a form, a row each. */
export interface GrantRows {
  readonly dom: HTMLElement
  /** Undefined without a row: the account sees all records. */
  value(): string[] | undefined
}

/** @param grants As the API has them. */
export function createGrantRows(app: App, grants: readonly string[]): GrantRows {
  const rows = new Map<HTMLElement, () => GrantFields>()
  const list = element('div')
  const add = button('Limit to some records', () => addRow({ right: 'read', prefix: '', labels: [] }, true))
  for (const grant of grants) addRow(parseGrant(grant), false)
  const dom = element('fieldset', { class: 'grants' }, element('legend', {}, 'Records'), list, add)
  return {
    dom,
    value: () => (rows.size === 0 ? undefined : [...rows.values()].map((read) => formatGrant(read()))),
  }

  function addRow(grant: GrantFields, isNew: boolean) {
    const options = Object.entries(rightTexts).map(
      ([word, text]) => new Option(text, word, false, word === grant.right),
    )
    const right = element('select', { 'aria-label': 'May do' }, ...options)
    const prefix = textInput('Name begins with', grant.prefix)
    const labels = textInput('Labels, with & between', grant.labels.join(' & '))
    const count = element('output', { class: 'faint' })
    const read = (): GrantFields => ({
      right: right.value === 'write' ? 'write' : 'read',
      prefix: prefix.value,
      labels: labels.value.split('&').flatMap((text) => (text.trim() === '' ? [] : [text.trim()])),
    })
    const row = element(
      'div',
      { class: 'grant', change: () => void showCount(read(), count) },
      ...[right, prefix, labels, count, ' '],
      button(
        'Remove',
        () => {
          rows.delete(row)
          row.remove()
          add.focus()
        },
        { class: 'quiet', 'aria-label': 'Remove this limit' },
      ),
    )
    rows.set(row, read)
    list.append(row)
    void showCount(grant, count)
    if (isNew) prefix.focus()
  }

  /** Says how many records a grant covers now. */
  async function showCount(grant: GrantFields, output: HTMLOutputElement) {
    const asked = filtersOf(grant)
    output.dataset.asked = asked
    const path = `configurations?${asked === '' ? '' : `${asked}&`}page=0&per_page=1`
    const answer = await app.api.call(path, { method: 'HEAD', expects: [400] }).catch(() => undefined)
    // A later question has the later answer.
    if (output.dataset.asked !== asked) return
    const total = answer?.status === 200 ? answer.headers.get('X-Total-Count') : undefined
    setText(output, total === '1' ? ' 1 record' : total ? ` ${total} records` : '')
  }
}

/** Grants in words. */
export function describeGrants(grants: readonly string[]): string {
  return grants
    .map((text) => {
      const { right, prefix, labels } = parseGrant(text)
      const filters = [...(prefix === '' ? [] : [`${prefix}…`]), ...labels]
      return `${rightTexts[right]} ${filters.length === 0 ? 'all' : filters.join(' & ')}`
    })
    .join('; ')
}

/** What a new record needs for the only grant to change some; nothing if there are several. */
export function draftGranted(grants: readonly string[] = []): {
  name?: string
  labels?: Record<string, string>
} {
  const [only, ...others] = grants.map(parseGrant).filter(({ right }) => right === 'write')
  if (only === undefined || others.length > 0) return {}
  const labels = only.labels.flatMap((text) => {
    const [, key, value] = /^([^=!]+)=(.*)$/s.exec(text) ?? []
    return key === undefined || value === undefined ? [] : [[key, value] as const]
  })
  return {
    ...(only.prefix === '' ? {} : { name: only.prefix }),
    ...(labels.length === 0 ? {} : { labels: Object.fromEntries(labels) }),
  }
}

function parseGrant(text: string): GrantFields {
  const [right, query = ''] = text.split('?', 2)
  const filters = new URLSearchParams(query)
  return {
    right: right === 'write' ? 'write' : 'read',
    prefix: filters.get('prefix') ?? '',
    labels: filters.getAll('label'),
  }
}

function formatGrant(grant: GrantFields): string {
  const filters = filtersOf(grant)
  return filters === '' ? grant.right : `${grant.right}?${filters}`
}

/** As a query of the list. */
function filtersOf({ prefix, labels }: GrantFields): string {
  const filters = labels.map((label) => `label=${encodeURIComponent(label)}`)
  if (prefix !== '') filters.unshift(`prefix=${encodeURIComponent(prefix)}`)
  return filters.join('&')
}

function textInput(label: string, value: string): HTMLInputElement {
  const input = element('input', {
    'aria-label': label,
    placeholder: label,
    autocomplete: 'off',
    spellcheck: 'false',
  })
  input.value = value
  return input
}
