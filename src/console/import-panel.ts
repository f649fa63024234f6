import type { Fault } from '../errors.ts'
import { home } from './address.ts'
import { type ApiResponse, isAborted, Refusal, tagIn } from './api.ts'
import type { App } from './app.ts'
import { ask } from './dialog.ts'
import { button, element } from './element.ts'
import { grouped } from './figure-text.ts'
import { ImportChoices } from './import-choices.ts'
import { ImportColumns } from './import-columns.ts'
import { isOtherEncoding, offerWindows1252 } from './import-encoding.ts'
import { type ImportFormat, importFormats, readLines, whyUnreadable } from './import-format.ts'
import {
  type Counts,
  countsText,
  explainImport,
  faultTable,
  firstRecords,
  nameList,
  nameLists,
  readFormIn,
  type Trial,
  warningTables,
} from './import-report.ts'
import { ImportSource, type Source } from './import-source.ts'

const modes = {
  merge: 'Merge: adds new names and modifies those that differ; keeps all other records',
  replace: 'Replace: the same, and removes every record that is not in the file',
}

/** How often an import is sent, while others' changes leave it as it was shown. */
const SENDS_MAX = 5
/** How often a check is sent, while the server is still at the one before it. */
const CHECKS_MAX = 5

/** Imports records: first a dry run, then the import. */
export class ImportPanel {
  readonly dom: HTMLElement
  readonly #app: App
  readonly #source = new ImportSource((source, isWhole) => this.#take(source, isWhole))
  readonly #format = element(
    'select',
    { id: 'import-format', change: () => this.#changed() },
    ...Object.entries(importFormats).map(([value, { title }]) => element('option', { value }, title)),
  )
  readonly #modes = Object.keys(modes).map((value) =>
    element('input', { type: 'radio', name: 'mode', value, change: () => this.#changed() }),
  )
  readonly #choices = new ImportChoices(() => this.#changed())
  readonly #columns = new ImportColumns(() => this.#changed())
  readonly #check = button('Check', () => void this.#try(), { disabled: true })
  readonly #import = button('Import', () => void this.#runImport(), { class: 'primary', disabled: true })
  readonly #controls: HTMLFieldSetElement
  readonly #progress = element('progress', { 'aria-label': 'Sent', hidden: true, max: 1 })
  readonly #status = element('p', { role: 'status' })
  readonly #message = element('p', { class: 'fault', role: 'alert' })
  readonly #report = element('div', { class: 'report' })
  #given: Source | undefined
  #trial: Trial | undefined
  /** Tag of the list that the trial was compared with. */
  #tag = ''
  #running: AbortController | undefined
  /** Whether the server may still be at a check that was broken off: it takes one import of an account at a time. */
  #hasBrokenOff = false
  /** Whether what is given was checked, with whatever outcome. */
  #wasTried = false
  #keepsFocus = false

  constructor(app: App) {
    this.#app = app
    const [merge] = this.#modes
    if (merge !== undefined) merge.checked = true
    this.#controls = element(
      'fieldset',
      { class: 'plain' },
      this.#source.dom,
      element('div', { class: 'format' }, element('label', { for: 'import-format' }, 'Format'), this.#format),
      element(
        'fieldset',
        { class: 'plain' },
        element('legend', {}, 'Records that are here already'),
        ...Object.values(modes).map((words, index) =>
          element('label', { class: 'choice' }, this.#modes[index], words),
        ),
      ),
      this.#choices.dom,
      this.#columns.dom,
      element('div', { class: 'bar' }, this.#check, this.#import),
    )
    this.dom = element(
      'section',
      { 'aria-label': 'Import', class: 'panel' },
      element('h2', {}, 'Import'),
      element(
        'p',
        {},
        'First the server checks the file, and changes nothing. Then you see what an import would do.',
      ),
      this.#controls,
      this.#progress,
      this.#status,
      this.#message,
      this.#report,
    )
  }

  /** Takes dropped files: the first of them. */
  drop(files: FileList): void {
    const [file] = files
    if (file !== undefined && !this.#controls.disabled) this.#source.takeFile(file, files.length - 1)
  }

  get #chosenFormat(): ImportFormat {
    return this.#format.value as ImportFormat
  }

  get #mode() {
    return this.#modes.find(({ checked }) => checked)?.value ?? 'merge'
  }

  #take(source: Source | undefined, isWhole: boolean) {
    // What a person has chosen for a text stays until the text begins otherwise.
    if (source !== undefined && (isWhole || source.format !== this.#given?.format))
      this.#format.value = source.format
    this.#choices.show(this.#chosenFormat)
    if (source?.header !== this.#given?.header || this.#chosenFormat !== 'csv') this.#columns.reset()
    this.#given = source
    this.#wasTried = false
    this.#clear()
    this.#check.disabled = source === undefined
    if (isWhole) void this.#try()
  }

  #changed() {
    this.#choices.show(this.#chosenFormat)
    if (this.#chosenFormat !== 'csv') this.#columns.reset()
    this.#clear()
    if (this.#wasTried) void this.#try({ keepsFocus: true })
  }

  /** What was found out holds no longer. */
  #clear() {
    if (this.#running !== undefined) this.#hasBrokenOff = true
    this.#running?.abort()
    this.#running = undefined
    this.#trial = undefined
    this.#import.disabled = true
    this.#message.textContent = this.#status.textContent = ''
    this.#progress.hidden = true
    this.#report.replaceChildren()
  }

  /** @param keepsFocus Whether the person is still choosing, and goes on where the focus is. */
  async #try({ keepsFocus = false } = {}) {
    this.#clear()
    this.#wasTried = true
    this.#keepsFocus = keepsFocus
    const trial = await this.#send<Trial>(true)
    if (trial === undefined) return
    this.#trial = trial
    this.#import.disabled = false
    this.#status.textContent = `Checked: an import would give ${countsText(trial)}.`
    this.#columns.update(trial.read.columns ?? [])
    this.#report.replaceChildren(...warningTables(trial), ...firstRecords(trial.read), ...nameLists(trial))
  }

  /** Takes the same file in another encoding; what was chosen stays. */
  #takeDecoded(file: Blob) {
    if (this.#given === undefined) return
    this.#given = { ...this.#given, file }
    void this.#try()
  }

  /** Somebody else was faster than the import, which was sent so often. */
  async #tryAgain<Reply extends Counts>(sends: number): Promise<Reply | undefined> {
    const before = JSON.stringify(this.#trial)
    await this.#try()
    if (this.#trial === undefined) return undefined
    const { removed, names } = this.#trial
    // Only the beginning of a long list was shown.
    const isAllListed = removed === names.removed.length
    if (sends < SENDS_MAX && isAllListed && JSON.stringify(this.#trial) === before) {
      this.#controls.disabled = true
      return this.#send(false, sends + 1)
    }
    this.#message.textContent =
      'The records have changed since the check, so nothing is imported. Below is what an import would do now.'
    this.#import.focus()
    return undefined
  }

  async #runImport() {
    const { removed = 0, names } = this.#trial ?? {}
    if (this.#mode === 'replace' && removed > 0) {
      const count = grouped(removed)
      const question = element('p', {}, `Records that are not in the file are removed: ${count}`)
      const list = nameList(names?.removed ?? [], removed)
      if (!(await ask('Remove records?', [question, list], 'Import and remove'))) return
    }
    this.#controls.disabled = true
    this.#keepsFocus = false
    const counts = await this.#send<Counts>(false)
    this.#controls.disabled = false
    if (counts === undefined) return
    this.#clear()
    this.#status.textContent = `Imported: ${countsText(counts)}.`
    const link = element('a', { href: this.#app.linkTo(home) }, 'Show the records')
    this.#report.replaceChildren(link, ...warningTables(counts))
    link.focus()
  }

  /** @returns Undefined if it failed, which then is said, or if something else is chosen meanwhile. */
  async #send<Reply extends Counts>(isTrial: boolean, sends = 1): Promise<Reply | undefined> {
    const source = this.#given
    if (source === undefined) return
    const { file } = source
    const running = new AbortController()
    this.#running = running
    this.#message.textContent = ''
    this.#status.textContent = 'Reading the file…'
    let isSent = false
    const format = this.#chosenFormat
    const query = new URLSearchParams({ format, mode: this.#mode, ...(isTrial ? { dry_run: '1' } : {}) })
    for (const [name, value] of [...this.#choices.parametersOf(format), ...this.#columns.parameters])
      query.append(name, value)
    const refused = source.refused ?? (await whyUnreadable(file))
    if (running.signal.aborted) return
    try {
      if (refused !== undefined) throw new Error(refused)
      const answer = await this.#callPatiently(isTrial, running.signal, () =>
        this.#app.api.call(`v1/import?${query}`, {
          method: 'POST',
          body: file,
          headers: {
            'Content-Type': importFormats[format].mediaType,
            ...(isTrial ? {} : { 'If-Match': this.#tag }),
          },
          signal: running.signal,
          sent: (bytes, all) => {
            isSent = bytes === all
            this.#showSent(bytes / all, isTrial)
          },
        }),
      )
      if (running.signal.aborted) return
      this.#progress.hidden = true
      this.#tag = tagIn(answer)
      return JSON.parse(answer.text) as Reply
    } catch (error) {
      if (isAborted(error) || running.signal.aborted) return
      this.#progress.hidden = true
      this.#status.textContent = ''
      this.#controls.disabled = false
      if (error instanceof Refusal && error.status === 412) return await this.#tryAgain(sends)
      const gone = refused ?? (await whyUnreadable(file))
      this.#message.textContent = gone ?? explainImport(error, file.size, isSent && !isTrial)
      if (error instanceof Refusal && error.faults.length > 0)
        await this.#showFaults(error, file, running.signal)
      else if (!this.#keepsFocus) (this.#import.disabled ? this.#check : this.#import).focus()
      return
    } finally {
      if (this.#running === running) this.#running = undefined
    }
  }

  /** Sends a check again that comes before the server has noticed that the one before it was broken off. */
  async #callPatiently(isTrial: boolean, signal: AbortSignal, call: () => Promise<ApiResponse>) {
    for (let calls = 1; ; calls++) {
      try {
        const answer = await call()
        this.#hasBrokenOff = false
        return answer
      } catch (error) {
        const isBusy = error instanceof Refusal && error.status === 503 && isTrial && this.#hasBrokenOff
        if (!isBusy || calls === CHECKS_MAX) throw error
        await pause((error.retryAfterSeconds ?? 1) * 1_000)
        signal.throwIfAborted()
      }
    }
  }

  #showSent(share: number, isTrial: boolean) {
    this.#progress.hidden = false
    this.#progress.value = share
    if (share < 1) this.#status.textContent = `Sending: ${Math.floor(share * 100)} %`
    else this.#status.textContent = `All is sent; the server is ${isTrial ? 'checking' : 'applying'} it…`
  }

  async #showFaults({ faults, body }: Refusal, file: Blob, signal: AbortSignal) {
    const read = readFormIn(body)
    const wanted = faults.flatMap(({ line }) => (line === undefined ? [] : [line]))
    const lines = await readLines(file, wanted).catch(() => undefined)
    if (signal.aborted) return
    const table = faultTable('Errors in the file', faults.map(withField), lines)
    if (read?.columns !== undefined) this.#columns.update(read.columns)
    const offer = isOtherEncoding(faults)
      ? [await offerWindows1252(file, (decoded) => this.#takeDecoded(decoded))]
      : []
    if (signal.aborted) return
    this.#report.replaceChildren(table, ...offer, ...(read === undefined ? [] : firstRecords(read)))
    if (!this.#keepsFocus) (this.#columns.isOpen ? this.#columns : table).focus()
  }
}

/** Puts the name of the field before the words of the API, which go on from it. */
function withField(fault: Fault): Fault {
  const { field, detail } = fault
  // For a header, what follows is for people with curl; the page has choices.
  const said = field === 'header' ? detail.replace(/; (?:say|add extra=)[^;]*$/, '') : detail
  return { ...fault, detail: `${field} ${said}` }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
