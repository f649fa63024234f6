import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { eventually } from '../support/eventually.ts'

export type Line = Readonly<Record<string, unknown>>

/** The lines of a folder's audit trail. */
export async function trailIn(folder: string): Promise<Line[]> {
  const text = await readFile(join(folder, 'audit.jsonl'), 'utf8')
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Line)
}

/**
 * The lines that an action added to the trail, without their `time`.
 *
 * @param changes How many changes of records it makes: their lines may come a moment after the answer.
 */
export async function addedBy(folder: string, action: () => Promise<unknown>, changes = 0): Promise<Line[]> {
  const before = (await trailIn(folder)).length
  await action()
  await eventually('the lines are written', async () => (await trailIn(folder)).length >= before + changes)
  return (await trailIn(folder)).slice(before).map(({ time, ...line }) => {
    assert.match(String(time), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    return line
  })
}
