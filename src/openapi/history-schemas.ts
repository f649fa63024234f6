import type { JsonSchema } from '../json-schema.ts'
import { ALL_HISTORY_ENTRIES_MAX, AUDITED_QUERY_CHARACTERS_MAX, HISTORY_ENTRIES_MAX } from '../limits.ts'
import { importModes } from '../store/authorship.ts'
import { named, object } from './schema-parts.ts'

export const changedFields: JsonSchema = {
  type: 'object',
  description:
    'Of a modification: each changed field, and each changed label as `labels.KEY`, where `null` stands for none.',
  additionalProperties: object({ before: {}, after: {} }),
}
const who: Record<string, JsonSchema> = {
  by: { type: 'string', description: 'The name of the account; for a command, the system account.' },
  kind: { type: 'string', enum: ['user', 'client', 'command'] },
  command: { type: 'string', description: 'The words of a command.' },
  via: object(
    { claimed: { type: 'string' } },
    { description: 'Who used `sudo` for a command, as that says; nothing proves it.' },
  ),
  reason: { type: 'string', description: 'Why, as the caller said.' },
}
const count: JsonSchema = { type: 'integer', minimum: 0 }

/** The named schemas of histories. */
export const historySchemas = {
  History: object({
    history: {
      type: 'array',
      maxItems: HISTORY_ENTRIES_MAX,
      items: named('HistoryEntry'),
      description: 'Newest first.',
    },
    since: {
      type: 'string',
      format: 'date-time',
      description: 'All changes of the record after this time are listed; earlier ones may be missing.',
    },
  }),
  HistoryEntry: object(
    {
      time: { type: 'string', format: 'date-time' },
      event: {
        type: 'string',
        enum: ['configuration_added', 'configuration_modified', 'configuration_deleted'],
      },
      ...who,
      id: { type: 'integer', minimum: 1 },
      name: { type: 'string', description: 'Of a modification: the name before it.' },
      changed: changedFields,
      record: {
        type: 'object',
        description: 'The record that was added or deleted, as a `Configuration` of its time.',
      },
    },
    { required: ['time', 'event'] },
  ),
  HistoryOfAll: object({
    history: {
      type: 'array',
      maxItems: ALL_HISTORY_ENTRIES_MAX,
      items: { anyOf: [named('HistoryEntry'), named('CountedEntry')] },
      description: 'Newest first.',
    },
    since: {
      type: 'string',
      format: 'date-time',
      description:
        'All changes after this time that are asked for are listed, up to where the answer begins; earlier ones may be missing.',
    },
  }),
  CountedEntry: object(
    {
      time: { type: 'string', format: 'date-time' },
      event: {
        type: 'string',
        enum: ['configurations_imported', 'configurations_changed', 'configurations_removed'],
      },
      ...who,
      mode: { type: 'string', enum: importModes, description: 'Of an import.' },
      matched: count,
      added: count,
      modified: count,
      removed: count,
      unchanged: count,
      changed: { type: 'object', description: 'What was set in each record.' },
      query_sha256: {
        type: 'string',
        pattern: '^[0-9a-f]{64}$',
        description: 'Of all filters, where `query` is only their beginning.',
      },
      query: {
        type: 'string',
        description: `The filters; of long ones the first ${AUDITED_QUERY_CHARACTERS_MAX} characters or a few less.`,
      },
    },
    {
      required: ['time', 'event'],
      description: 'A change of many records of which the audit trail has only the counts.',
    },
  ),
}
