import type { App } from './app.ts'
import { button, element, setText } from './element.ts'
import { recordCount } from './figure-text.ts'
import { fillIn, isUntouched, typedIn } from './typed-text.ts'

/** What each right is called. */
const rightTexts = { read: 'read', write: 'change' } as const
const rights = ['read', 'write'] as const

interface GrantFields {
  readonly right: keyof typeof rightTexts
  readonly prefix: string
  readonly labels: readonly string[]
}

/** What a form says of an account's limits. */
export interface ChosenLimits {
  /** As the API has them; undefined for all records. */
  readonly grants: readonly string[] | undefined
  /** Whether a limit that the form showed is gone, so that the account sees all records, or may change all. */
  readonly isLifted: boolean
}

/** Which records an account sees, in a form: all, or those of some grants, a row each. */
export interface GrantRows {
  readonly dom: HTMLElement
  /** Undefined while neither is chosen; that is then said. */
  read(): ChosenLimits | undefined
}

/** @param grants As the API has them; undefined for all records. */
export function createGrantRows(app: App, grants: readonly string[] | undefined): GrantRows {
  const rows = new Map<HTMLElement, () => GrantFields>()
  const list = element('div')
  const all = element('input', { type: 'radio', name: 'limits', change: update })
  const some = element('input', { type: 'radio', name: 'limits', change: update })
  const add = button('Add a limit', addEmptyRow)
  const limits = element('div', {}, list, add)
  const hint = element('p', { class: 'fault', role: 'alert' })
  const choice = (input: HTMLInputElement, text: string) => element('label', { class: 'choice' }, input, text)
  const dom = element(
    'fieldset',
    { class: 'grants' },
    element('legend', {}, 'Records'),
    choice(all, 'All records'),
    choice(some, 'Only some records'),
    limits,
    hint,
  )
  let before = grants
  for (const grant of grants ?? []) addRow(parseGrant(grant), false)
  all.checked = grants === undefined
  some.checked = !all.checked
  update()
  return { dom, read }

  function read() {
    hint.textContent = all.checked || some.checked ? '' : 'Choose which records: all, or only some.'
    if (hint.textContent !== '') {
      all.focus()
      return undefined
    }
    const now = all.checked ? undefined : [...rows.values()].map((readRow) => formatGrant(readRow()))
    const isLifted = rights.some((right) => coversAll(now, right) && !coversAll(before, right))
    return { grants: now, isLifted }
  }

  function update() {
    hint.textContent = ''
    limits.hidden = !some.checked
    if (some.checked && rows.size === 0) addEmptyRow()
  }

  function addEmptyRow() {
    // A new account that had limits here must not lose them unasked.
    before ??= []
    addRow({ right: 'read', prefix: '', labels: [] }, true)
  }

  function remove(row: HTMLElement) {
    rows.delete(row)
    row.remove()
    if (rows.size > 0) return add.focus()
    // Without its last limit, an account sees all records: that is for a person to say.
    some.checked = false
    update()
    some.focus()
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
      prefix: typedIn(prefix),
      // A value may hold an &, which only what is typed is taken apart at.
      labels: isUntouched(labels)
        ? grant.labels
        : labels.value.split('&').flatMap((text) => (text.trim() === '' ? [] : [text.trim()])),
    })
    const row = element(
      'div',
      { class: 'grant', change: () => void showCount(read(), count) },
      ...[right, prefix, labels, count, ' '],
      button('Remove', () => remove(row), { class: 'quiet', 'aria-label': 'Remove this limit' }),
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
    const total = await countRecords(app, asked).catch(() => undefined)
    // A later question has the later answer.
    if (output.dataset.asked !== asked) return
    setText(output, total === undefined ? '' : ` ${recordCount(total)}`)
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

/**
 * How many records there are now.
 *
 * @param filters As a query of the list; empty for all.
 * @throws As `Api.call`.
 */
export async function countRecords(app: App, filters = ''): Promise<number> {
  const path = `configurations?${filters === '' ? '' : `${filters}&`}page=0&per_page=1`
  const { headers } = await app.api.call(path)
  return Number(headers.get('X-Total-Count'))
}

/** Whether all records are within the grants. */
export function coversAll(grants: readonly string[] | undefined, right: keyof typeof rightTexts): boolean {
  return grants?.some((grant) => grant === right || grant === 'write') ?? true
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
  fillIn(input, value)
  return input
}
