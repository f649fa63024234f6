import type { Fault } from '../errors.ts'
import type { Labels } from '../store/labels.ts'
import {
  type Configuration,
  type Field,
  type FieldName,
  fieldNames,
  fields,
  ofFields,
} from './configuration.ts'
import { button, element } from './element.ts'
import { fillIn, typedIn } from './typed-text.ts'

/** What a form says of a record. */
export type Draft = Omit<Configuration, 'id'>

/** The fields as they were typed: a port that is not a number is text. */
export type FormValues = Readonly<Record<string, unknown>> & { readonly labels: Labels }

interface FormField {
  readonly dom: HTMLElement
  readonly input: HTMLInputElement
  readonly fault: HTMLElement
}

interface LabelRow {
  readonly dom: HTMLElement
  readonly key: HTMLInputElement
  readonly value: HTMLInputElement
}

/** The fields of one record, with what the server says of each. */
export class RecordForm {
  readonly dom: HTMLElement
  readonly #fields: Record<FieldName, FormField>
  readonly #labelRows: LabelRow[] = []
  readonly #labels = element('div', { class: 'label-rows' })
  readonly #labelFault = element('p', { class: 'fault', id: 'fault-labels' })
  readonly #more: HTMLButtonElement
  readonly #suggested: readonly Labels[]
  readonly #keys = element('datalist', { id: 'label-keys' })
  readonly #values = element('datalist', { id: 'label-values' })
  #filled = ''

  /** @param suggested Their keys and values are offered. */
  constructor(draft: Partial<Draft>, suggested: readonly Labels[]) {
    this.#suggested = suggested
    this.#keys.replaceChildren(...optionsOf(suggested.flatMap((labels) => Object.keys(labels))))
    this.#fields = ofFields(({ name, heading, input }) =>
      this.#field(name, heading, { ...input, autofocus: name === 'name' }),
    )
    this.#more = button('Add a label', () => this.#addLabel('', '').key.focus(), { class: 'quiet' })
    this.dom = element(
      'div',
      { class: 'fields' },
      ...fieldNames.map((field) => this.#fields[field].dom),
      element(
        'fieldset',
        { 'aria-describedby': 'fault-labels' },
        element('legend', {}, 'Labels'),
        this.#labels,
        this.#keys,
        this.#values,
        this.#labelFault,
        this.#more,
      ),
    )
    this.fill(draft)
  }

  fill({ labels = {}, ...values }: Partial<Draft>): void {
    for (const field of fieldNames) fillIn(this.#fields[field].input, String(values[field] ?? ''))
    for (const { dom } of this.#labelRows.splice(0)) dom.remove()
    for (const [key, value] of Object.entries(labels)) this.#addLabel(key, value)
    this.#filled = JSON.stringify(this.read())
  }

  /** Whether it says something else than what it was filled with. */
  get isTouched(): boolean {
    return JSON.stringify(this.read()) !== this.#filled
  }

  /** As it was typed, but for blanks at the ends: a port that is not a number stays text, and the server says what is wrong. */
  read(): FormValues {
    const values = fields.map((field) => [
      field.name,
      readTyped(field, typedIn(this.#fields[field.name].input)),
    ])
    const labels = this.#labelRows.map(({ key, value }) => [key.value.trim(), typedIn(value)] as const)
    return {
      ...Object.fromEntries(values),
      labels: Object.fromEntries(labels.filter(([key, value]) => key !== '' || value !== '')),
    }
  }

  /** Two labels with one key: the server would get only the second, and could not see the fault. */
  findDoubledLabels(): Fault[] {
    const keys = this.#labelRows.map(({ key }) => key.value.trim())
    const doubled = new Set(keys.filter((key, place) => key !== '' && keys.indexOf(key) !== place))
    return [...doubled].map((key) => ({ field: `labels.${key}`, detail: 'is there twice; remove one' }))
  }

  /** Shows each fault at its field, and moves the focus to the first; none clears them. */
  showFaults(faults: readonly Fault[]): void {
    const texts = new Map(faults.map(({ field, detail }) => [field, detail]))
    for (const { name, heading } of fields) {
      const { input, fault } = this.#fields[name]
      const text = texts.get(name)
      fault.textContent = text === undefined ? '' : `${heading} ${text}.`
      input.setAttribute('aria-invalid', String(text !== undefined))
    }
    const ofLabels = faults.filter(({ field }) => field === 'labels' || field.startsWith('labels.'))
    this.#labelFault.textContent = ofLabels
      .map(({ field, detail }) => `${field.replace(/^labels\.?/, '') || 'The labels'} ${detail}.`)
      .join(' ')
    for (const { key } of this.#labelRows)
      key.setAttribute('aria-invalid', String(texts.has(`labels.${key.value.trim()}`)))
    this.dom.querySelector<HTMLInputElement>('[aria-invalid="true"]')?.focus()
  }

  #field(name: FieldName, heading: string, attributes: Record<string, string | boolean>): FormField {
    const id = `field-${name}`
    const fault = element('p', { class: 'fault', id: `fault-${name}` })
    const input = element('input', {
      id,
      // Without a name: password managers would take the record's user for this page's.
      autocomplete: 'off',
      autocapitalize: 'none',
      spellcheck: 'false',
      'aria-describedby': fault.id,
      ...attributes,
    })
    return {
      dom: element('div', { class: `field ${name}` }, element('label', { for: id }, heading), input, fault),
      input,
      fault,
    }
  }

  #addLabel(key: string, value: string): LabelRow {
    const input = (label: string, text: string, list: string) => {
      const made = element('input', {
        list,
        'aria-label': label,
        placeholder: label,
        autocomplete: 'off',
        autocapitalize: 'none',
        spellcheck: 'false',
      })
      fillIn(made, text)
      return made
    }
    const [keyInput, valueInput] = [input('Key', key, this.#keys.id), input('Value', value, this.#values.id)]
    valueInput.addEventListener('focus', () => {
      const known = this.#suggested.flatMap((labels) => labels[keyInput.value.trim()] ?? [])
      this.#values.replaceChildren(...optionsOf(known))
    })
    const remove = () => {
      this.#labelRows.splice(this.#labelRows.indexOf(row), 1)
      const next = row.dom.nextElementSibling ?? row.dom.previousElementSibling
      row.dom.remove()
      const place = next?.querySelector('input') ?? this.#more
      place.focus()
    }
    const row: LabelRow = {
      key: keyInput,
      value: valueInput,
      dom: element(
        'div',
        { class: 'label-row' },
        keyInput,
        valueInput,
        button('×', remove, { class: 'quiet', 'aria-label': 'Remove this label' }),
      ),
    }
    this.#labelRows.push(row)
    this.#labels.append(row.dom)
    return row
  }
}

/** An option for each text, once. */
export function optionsOf(texts: readonly string[]): HTMLOptionElement[] {
  return [...new Set(texts)].sort().map((value) => element('option', { value }))
}

/** Null stands for nothing where a record may do without. */
export function readTyped(field: Field, typed: string): unknown {
  if (typed === '' && field.isOptional) return null
  return field.isNumber && /^(0|[1-9]\d{0,8})$/.test(typed) ? Number(typed) : typed
}
