import type { Labels } from '../store/labels.ts'
import { type Api, Refusal } from './api.ts'
import type { App } from './app.ts'
import { changesIn, compareVersions, isSame, type Version } from './changes.ts'
import {
  type Configuration,
  configurationPath,
  describeThrough,
  readConfiguration,
  type Tagged,
  taggedIn,
} from './configuration.ts'
import { ask, choose } from './dialog.ts'
import { type Child, element, headRow } from './element.ts'
import { type FormDialog, inShort, openFormDialog } from './form-dialog.ts'
import { draftGranted } from './grant-rows.ts'
import { type Draft, type FormValues, RecordForm } from './record-form.ts'
import { shown } from './shown-text.ts'

const MINE = 'Keep mine'
const THEIRS = 'Take theirs'

/**
 * Asks for the fields of a new record, until the server has it or it is given up.
 *
 * @param added Called with the record.
 */
export function openNewRecord(
  app: App,
  draft: Partial<Draft> = {},
  added: (configuration: Configuration) => void = () => {},
): void {
  const granted = draftGranted(app.session.caller?.grants)
  openFormDialog(app, 'Add a record', new RecordForm({ ...granted, ...draft }, suggestedBy(app)), (values) =>
    add(app, values, added),
  )
}

async function add(
  app: App,
  values: FormValues,
  added: (configuration: Configuration) => void,
): Promise<readonly Child[]> {
  const { configuration } = taggedIn(await app.api.call('configurations/', { method: 'POST', json: values }))
  added(configuration)
  return ['Added ', shown(configuration.name)]
}

/**
 * Asks for changes of a record, until the server has them or they are given up.
 *
 * @param saved Called with the record as it is then.
 */
export function openEdit(
  app: App,
  configuration: Configuration,
  saved: (configuration: Configuration) => void,
): void {
  new RecordEdit(app, configuration, saved)
}

/**
 * Deletes a record if a person confirms it, who has seen what it is now.
 *
 * @returns The record that was deleted; undefined if it was not confirmed.
 * @throws As `Api.call`; it is still there.
 */
export async function removeRecord(app: App, name: string): Promise<Configuration | undefined> {
  const present = new PresentRecord(app.api, name)
  for (let isLate = false; ; isLate = true) {
    const { configuration, tag } = await present.read()
    const through = await describeThrough(app.api, configuration.name)
    const what: Child[] = [
      isLate && element('p', {}, 'Somebody has changed this record meanwhile.'),
      element('p', {}, 'This deletes ', ...inShort(configuration), '.'),
      through !== undefined && element('p', {}, shown(`${through}.`)),
      element('p', {}, 'Its history can put it back, with a new ID.'),
    ]
    if (!(await ask('Delete a record', what, 'Delete'))) return undefined
    try {
      await app.api.call(configurationPath(name), { method: 'DELETE', headers: { 'If-Match': tag } })
      return configuration
    } catch (error) {
      if (!(error instanceof Refusal) || error.status !== 412) throw error
      present.forget()
    }
  }
}

/** The form of a record that others may change meanwhile. */
class RecordEdit {
  readonly #app: App
  readonly #saved: (configuration: Configuration) => void
  readonly #present: PresentRecord
  readonly #form: RecordForm
  readonly #dialog: FormDialog
  /** What the form began with, or what a person has seen since: only that may be replaced. */
  #seen: Configuration

  constructor(app: App, configuration: Configuration, saved: (configuration: Configuration) => void) {
    this.#app = app
    this.#saved = saved
    this.#seen = configuration
    this.#present = new PresentRecord(app.api, configuration.name)
    this.#form = new RecordForm(configuration, suggestedBy(app))
    this.#dialog = openFormDialog(app, 'Edit a record', this.#form, (values) => this.#change(values))
    const reading = this.#present.read()
    reading.then(
      (now) => this.#present.isLatest(reading) && this.#showPresent(now.configuration),
      () => {},
    )
    this.#dialog.dom.addEventListener('close', this.#listen(configuration.id))
  }

  /** @returns Stops it. */
  #listen(id: number): () => void {
    return this.#app.live.listen(({ kind, configuration: now }) => {
      if (now.id !== id) return
      this.#present.forget(now.name)
      if (kind === 'removed') return this.#dialog.say('Somebody has deleted this record.')
      // The stream reports one's own change, too, perhaps before its answer is here.
      if (isSame(this.#form.read(), now)) this.#seen = now
      if (isSame(this.#seen, now)) return
      if (isSame(this.#form.read(), this.#seen)) this.#showPresent(now)
      else this.#dialog.say('Somebody has changed this record. Save shows both versions.')
    })
  }

  /** Nothing that was typed is replaced. */
  #showPresent(now: Configuration) {
    if (isSame(this.#seen, now) || !isSame(this.#form.read(), this.#seen)) return
    this.#form.fill(now)
    this.#seen = now
  }

  /** @param wasLate Whether somebody else was faster than the last try. */
  async #change(values: FormValues, wasLate = false): Promise<readonly Child[] | undefined> {
    try {
      const reading = this.#present.read()
      const now = await reading
      // It has changed since, perhaps its name, too.
      if (!this.#present.isLatest(reading)) return await this.#change(values, wasLate)
      const isUnseen = wasLate || !isSame(this.#seen, now.configuration)
      // Two who made the same change need not choose.
      if (isUnseen && !isSame(values, now.configuration)) return await this.#decide(values, now.configuration)
      return await this.#send(values, now)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      if (error.status === 404) return this.#addAgain(values)
      if (error.status !== 412) throw error
      this.#present.forget()
      return this.#change(values, true)
    }
  }

  /** @returns Undefined if a new name was not confirmed. */
  async #send(
    values: FormValues,
    { configuration: now, tag }: Tagged,
  ): Promise<readonly Child[] | undefined> {
    const patch = changesIn(values, now)
    if (Object.keys(patch).length === 0) return ['Nothing has changed']
    if (patch.name !== undefined && !(await this.#mayRename(now.name))) return undefined
    const answer = await this.#app.api.call(configurationPath(now.name), {
      method: 'PATCH',
      json: patch,
      headers: { 'If-Match': tag },
    })
    const { configuration } = taggedIn(answer)
    this.#saved(configuration)
    return ['Changed ', shown(configuration.name)]
  }

  async #mayRename(name: string): Promise<boolean> {
    const through = await describeThrough(this.#app.api, name)
    if (through === undefined) return true
    const what = element('p', {}, shown(`${through}. They keep the old name.`))
    return ask('Rename a hop', [what], 'Rename')
  }

  /** Somebody else was faster. */
  async #decide(values: FormValues, now: Configuration): Promise<readonly Child[] | undefined> {
    const choice = await chooseVersion(values, now)
    this.#seen = now
    if (choice === 'theirs') this.#form.fill(now)
    return choice === 'mine' ? this.#change(values) : undefined
  }

  async #addAgain(values: FormValues): Promise<readonly Child[] | undefined> {
    const name = element('b', {}, shown(this.#present.name))
    const what = element('p', {}, 'Somebody has deleted ', name, ', or given it another name.')
    const isWanted = await ask('The record is gone', [what], 'Add it again')
    return isWanted ? add(this.#app, values, this.#saved) : undefined
  }
}

/** A record as the server has it now: read once, and again after it has changed. */
class PresentRecord {
  readonly #api: Api
  #name: string
  #reading: Promise<Tagged> | undefined

  constructor(api: Api, name: string) {
    this.#api = api
    this.#name = name
  }

  get name(): string {
    return this.#name
  }

  /** @throws As `Api.call`; the next call tries again. */
  read(): Promise<Tagged> {
    const reading = this.#reading ?? readConfiguration(this.#api, this.#name)
    this.#reading = reading
    reading.catch(() => {
      if (this.#reading === reading) this.#reading = undefined
    })
    return reading
  }

  /** Whether nobody has reported a change since this reading began. */
  isLatest(reading: Promise<Tagged>): boolean {
    return reading === this.#reading
  }

  /** Has it read again: it has changed, and perhaps has another name. */
  forget(name = this.#name): void {
    this.#name = name
    this.#reading = undefined
  }
}

/**
 * Shows both versions of a record side by side, and asks which shall stand.
 *
 * @returns Undefined for neither: one goes on editing.
 */
async function chooseVersion(mine: Version, theirs: Configuration): Promise<'mine' | 'theirs' | undefined> {
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

/** The labels that a form offers. */
function suggestedBy({ listed }: App): readonly Labels[] {
  return listed.map(({ labels = {} }) => labels)
}
