import { LABEL_KEY_CHARACTERS_MAX } from '../limits.ts'
import { Configuration } from '../store/configuration.ts'
import type { Labels } from '../store/labels.ts'
import { sharedLabels } from '../store/shared-labels.ts'
import type { ServedRecord } from './served-record.ts'

/** Bounds the memory for backtracking, which may take some for each character of a run. */
const RUN_RECORDS_MAX = 1_000

const TEXT = '[^"\\\\\\p{Cc}]*'
const LABELS_BEGIN = ',"labels":'
const LABEL = `"[a-z][a-z0-9._/-]{0,${LABEL_KEY_CHARACTERS_MAX - 1}}(?<![._/-])":"${TEXT}"`
const LABELS = `\\{${LABEL}(?:,${LABEL})*\\}`

/** A record as connbook writes it, with nothing that JSON escapes. */
const RECORD = `\\{"id":(?<id>[1-9]\\d{0,14}),"name":"(?<name>${TEXT})","hostname":"(?<hostname>${TEXT})","port":(?<port>[1-9]\\d{0,4}),"username":"(?<username>${TEXT})"(?<labelled>${LABELS_BEGIN}${LABELS})?\\}`
const EACH = new RegExp(`(?<json>${RECORD}),?`, 'guy')

// Without groups this takes a third of the time of `EACH`.
const UNNAMED = RECORD.replace(/\(\?<[a-z]+>/g, '(?:')
const RUN = new RegExp(`${UNNAMED}(?:,${UNNAMED}){0,${RUN_RECORDS_MAX - 1}}`, 'uy')

/**
 * Nearly all records are usual: to take many in one look needs a fraction of the time of finding the end of each and
 * parsing it.
 *
 * @returns The text of the usual records that begin at `at`, with commas between them; empty without any.
 */
export function usualRunAt(text: string, at: number): string {
  RUN.lastIndex = at
  return RUN.test(text) ? text.slice(at, RUN.lastIndex) : ''
}

/** The records of a run. */
export function recordsOfRun(run: string): ServedRecord[] {
  return Array.from(run.matchAll(EACH), ({ groups = {} }) => {
    const { json = '', id, name = '', hostname = '', port, username = '', labelled } = groups
    const labels = labelled === undefined ? undefined : labelsOf(labelled)
    const record = new Configuration(Number(id), { name, hostname, port: Number(port), username, labels })
    return { json, record }
  })
}

/**
 * A line for each record of a run, made without the record.
 *
 * @param form As `String.replace` takes it, with the groups `json`, `id`, one a field, and `labelled`: the member of
 *   the labels with the comma before it, or nothing. Only this group has quotation marks.
 */
export function linesOfRun(run: string, form: string): string {
  return run.replace(EACH, `${form}\n`)
}

/** @param labelled As in `linesOfRun`. @returns The labels, sorted. */
export function labelsOf(labelled: string): Labels {
  return sharedLabels(JSON.parse(labelled.slice(LABELS_BEGIN.length)))
}
