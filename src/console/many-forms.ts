import type { Fault } from '../errors.ts'
import type { Patch } from './changes.ts'
import { type Field, fields } from './configuration.ts'
import { element } from './element.ts'
import { optionsOf, readTyped } from './record-form.ts'
import { typedIn } from './typed-text.ts'

/** The part of a dialogue that says what becomes of many records. */
export interface ManyForm {
  readonly dom: HTMLElement
  /** What is typed so far. */
  peek(): Patch
  /** What was typed; undefined if something is missing, which is then said beside it. */
  read(): Patch | undefined
  /**
   * Shows each fault at its field, and moves the focus to the first; none clears them.
   *
   * @returns The faults that belong to no field here.
   */
  showFaults(faults: readonly Fault[]): readonly Fault[]
}

interface Line {
  readonly dom: HTMLElement
  readonly input: HTMLInputElement
  readonly fault: HTMLElement
}

/** One value for a field of all records; a field that is left empty stays as it is. */
export function createChangeForm(): ManyForm {
  const changeable: readonly Field[] = fields.filter(({ name }) => name !== 'name')
  const lines = changeable.map((field) => ({
    field,
    line: createLine(`many-${field.name}`, field.heading, field.name, {
      placeholder: 'as it is',
      inputmode: field.input.inputmode,
    }),
  }))
  const hint = element('p', { class: 'fault', role: 'alert' })
  const dom = element('div', { class: 'fields' }, ...lines.map(({ line }) => line.dom))
  return { dom: element('div', { class: 'plain' }, dom, hint), peek, read, showFaults }

  function peek() {
    const typed = lines.filter(({ line }) => typedIn(line.input) !== '')
    return Object.fromEntries(
      typed.map(({ field, line }) => [field.name, readTyped(field, typedIn(line.input))]),
    ) as Patch
  }

  function read() {
    const patch = peek()
    const isEmpty = Object.keys(patch).length === 0
    hint.textContent = isEmpty ? 'Fill in what shall change.' : ''
    if (!isEmpty) return patch
    lines[0]?.line.input.focus()
    return undefined
  }

  function showFaults(faults: readonly Fault[]) {
    const isHere = ({ field, name }: Fault) =>
      name === undefined && lines.some((each) => each.field.name === field)
    for (const { field, line } of lines) {
      const found = faults.find((fault) => isHere(fault) && fault.field === field.name)
      showFault(line, found && `${field.heading} ${found.detail}.`)
    }
    focusFault(dom)
    return faults.filter((fault) => !isHere(fault))
  }
}

/**
 * One label that all records get, or lose.
 *
 * @param keys Are offered.
 */
export function createLabelForm(keys: readonly string[]): ManyForm {
  const known = element('datalist', { id: 'many-keys' }, ...optionsOf(keys))
  const key = createLine('many-key', 'Key', 'username', { list: known.id })
  const value = createLine('many-value', 'Value', 'username')
  const isRemoval = element('input', {
    type: 'checkbox',
    change: () => {
      value.dom.hidden = isRemoval.checked
    },
  })
  const choice = element('label', { class: 'choice' }, isRemoval, 'Remove it instead')
  const dom = element('div', { class: 'fields' }, key.dom, value.dom, known)
  return { dom: element('div', { class: 'plain' }, dom, choice), peek, read, showFaults }

  function peek() {
    const name = key.input.value.trim()
    return name === '' ? {} : { labels: { [name]: isRemoval.checked ? null : typedIn(value.input) } }
  }

  function read() {
    const patch = peek()
    const isEmpty = patch.labels === undefined
    showFault(key, isEmpty ? 'Key must not be empty.' : undefined)
    if (!isEmpty) return patch
    key.input.focus()
    return undefined
  }

  function showFaults(faults: readonly Fault[]) {
    const isHere = ({ field, name }: Fault) => name === undefined && field.startsWith('labels')
    const found = faults.filter(isHere)
    const texts = found.map(({ field, detail }) => `${field.replace(/^labels\.?/, '') || 'Key'} ${detail}.`)
    showFault(key, texts.length === 0 ? undefined : texts.join(' '))
    focusFault(dom)
    return faults.filter((fault) => !isHere(fault))
  }
}

function createLine(
  id: string,
  label: string,
  className: string,
  attributes: Record<string, string | undefined> = {},
): Line {
  const fault = element('p', { class: 'fault', id: `${id}-fault` })
  const input = element('input', {
    ...{ id, autocomplete: 'off', autocapitalize: 'none', spellcheck: 'false' },
    'aria-describedby': fault.id,
    ...attributes,
  })
  const dom = element(
    'div',
    { class: `field ${className}` },
    element('label', { for: id }, label),
    input,
    fault,
  )
  return { dom, input, fault }
}

function showFault({ input, fault }: Line, text: string | undefined) {
  fault.textContent = text ?? ''
  input.setAttribute('aria-invalid', String(text !== undefined))
}

function focusFault(dom: HTMLElement) {
  dom.querySelector<HTMLInputElement>('[aria-invalid="true"]')?.focus()
}
