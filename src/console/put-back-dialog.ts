import { explain, Refusal } from './api.ts'
import type { App } from './app.ts'
import { changesIn, compareVersions } from './changes.ts'
import { type Configuration, configurationPath, configurationsIn, taggedIn } from './configuration.ts'
import { ask } from './dialog.ts'
import { type Child, element } from './element.ts'
import type { HistoryEntry } from './history-entry.ts'
import { changeList, readHistory } from './history-text.ts'
import { type Former, formerOf, stateBefore } from './put-back.ts'
import { shown } from './shown-text.ts'

const UNKNOWN = 'The history does not say any more how the record was before this change.'

/** A record as it is, and as it was before a change. */
interface PresentAndFormer {
  /** Undefined if it is not there. */
  readonly present: Configuration | undefined
  readonly tag: string
  /** `unknown` if the history does not say. */
  readonly former: Former | 'unknown'
}

/**
 * Puts a record back to what it was before a change, behind all changes since, if a person confirms what that is.
 *
 * @returns Its name then; undefined if it was not put back. What failed is said.
 */
export async function putBack(app: App, entry: HistoryEntry): Promise<string | undefined> {
  try {
    for (let isLate = false; ; isLate = true) {
      const states = await findStates(app, entry)
      const { present, former } = states
      if (former === 'unknown') return void app.notices.say(UNKNOWN)
      const changes = compareVersions(present ?? {}, former ?? {}).map(({ field, mine, theirs }) => ({
        field,
        before: present && mine,
        after: former && theirs,
      }))
      const differing = changes.filter(({ before, after }) => before !== after)
      if (differing.length === 0) return void app.notices.say('The record is so already.')
      const name = former?.name ?? present?.name ?? ''
      const what: Child[] = [
        isLate && element('p', {}, 'Somebody has changed this record meanwhile.'),
        element('p', {}, ...questionOf(present?.name ?? name, present, former)),
        changeList(differing),
      ]
      if (!(await ask('Put back', what, 'Put back'))) return undefined
      if (!(await send(app, present?.name ?? name, states.tag, present, former))) continue
      app.notices.say(...(former === undefined ? ['Deleted '] : ['Put back ']), shown(name))
      return name
    }
  } catch (error) {
    app.notices.say('Cannot put the record back: ', ...reasonOf(error))
    return undefined
  }
}

async function findStates(app: App, entry: HistoryEntry): Promise<PresentAndFormer> {
  // The record is read first: its tag shows whether it changes afterwards.
  const { configuration: present, tag } = await findById(app, entry.id)
  if (present === undefined && entry.event === 'configuration_deleted' && entry.record !== undefined)
    return { present, tag, former: formerOf(entry.record) }
  const known = await readHistory(app, present?.name ?? entry.name ?? '')
  const place = known.history.findIndex((each) => keyOf(each) === keyOf(entry))
  const state = stateBefore(present, known, place)
  return { present, tag, former: state === 'unknown' ? state : state.record }
}

function keyOf({ time, event, id, changed }: HistoryEntry): string {
  return JSON.stringify([time, event, id, changed])
}

/** Its name may be another one now. */
async function findById({ api }: App, id: number | undefined) {
  const nothing = { configuration: undefined, tag: '' }
  if (id === undefined) return nothing
  const { text } = await api.call(`configurations/?id=${id}`)
  const [found] = configurationsIn(text)
  if (found === undefined) return nothing
  const answer = await api.call(configurationPath(found.name), { expects: [404] })
  return answer.status === 404 ? nothing : taggedIn(answer)
}

/** @returns False if somebody has changed the record since it was shown. */
async function send(
  { api }: App,
  name: string,
  tag: string,
  present: Configuration | undefined,
  former: Former,
): Promise<boolean> {
  const path = configurationPath(name)
  const headers = { 'If-Match': tag }
  try {
    if (present === undefined)
      await api.call(path, { method: 'PUT', json: former, headers: { 'If-None-Match': '*' } })
    else if (former === undefined) await api.call(path, { method: 'DELETE', headers })
    else await api.call(path, { method: 'PATCH', json: changesIn(former, present), headers })
    return true
  } catch (error) {
    if (present === undefined || !(error instanceof Refusal)) throw error
    if (error.status === 412 || error.status === 404) return false
    throw error
  }
}

function questionOf(name: string, present: Configuration | undefined, former: Former): readonly Child[] {
  const record = element('b', {}, shown(name))
  if (former === undefined) return ['Before this change there was no record ', record, '. This deletes it.']
  if (present === undefined) return ['This adds ', record, ' again, as it was. It gets a new ID.']
  return ['This changes ', record, ' to what it was before this change, and takes back all changes since.']
}

function reasonOf(error: unknown): readonly Child[] {
  const isTaken = error instanceof Refusal && (error.status === 409 || error.status === 412)
  return [isTaken ? 'another record has its name now.' : explain(error)]
}
