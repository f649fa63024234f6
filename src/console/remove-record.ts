import { Refusal } from './api.ts'
import type { App } from './app.ts'
import { type Configuration, configurationPath, describeThrough } from './configuration.ts'
import { ask } from './dialog.ts'
import { type Child, element } from './element.ts'
import { inShort } from './form-dialog.ts'
import { PresentRecord } from './present-record.ts'
import { shown } from './shown-text.ts'

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
