import { listEnvelope } from '../exchange/json-format.ts'
import { conditionIn, isUnchanged } from '../http/header-fields.ts'
import { JSON_TYPE, type Reply, type Request, readJsonObject } from '../http/message.ts'
import type { ResponseDescription } from '../openapi/operation.ts'
import type { Scheduler } from '../scheduler.ts'
import { accessOf } from '../store/access.ts'
import {
  type Configuration,
  parseConfigurationPatch,
  parseNewConfiguration,
  parseReplacement,
} from '../store/configuration.ts'
import type { ConfigurationStore } from '../store/configuration-store.ts'
import { NameTakenError, UnknownNameError } from '../store/refusals.ts'
import type { Expectation } from '../store/single-change.ts'
import { inCode } from '../text.ts'
import { json, jsonBody } from './bodies.ts'
import { ConfigurationList } from './configuration-list.ts'
import { filterNames } from './filter-query.ts'
import { listParameters } from './list-query.ts'
import { CACHE_CONTROL, checkIfMatch, envelope } from './list-reply.ts'
import { nameInPath, preferWait } from './parameters.ts'
import { refuseDryRun } from './query.ts'
import { authorOf, reasonHeader } from './reason.ts'
import { defineResource } from './resource.ts'
import type { WaitingPolls } from './waiting-polls.ts'

const nameTaken: ResponseDescription = {
  description: 'Another record has the name, and is in the body unless the account does not see it.',
  content: json('Configurations'),
}

/** The records. */
export const configurations = defineResource({
  handlers: ({ store, basePath, scheduler, subscriptions }) =>
    configurationHandlers(store, basePath, scheduler, subscriptions.polls),
  dependsOnBasePath: true,
  routes: [
    {
      method: 'GET',
      path: '/configurations/',
      access: 'read',
      limits: 'records',
      summary: `lists records: all, filtered, or one page; optional: ${inCode(['q', ...filterNames, 'label', 'sort', 'page', 'per_page'])}`,
      answers: '200',
      operation: {
        id: 'listConfigurations',
        tag: 'configurations',
        notes: 'A page beyond the end is empty.',
        parameters: [...listParameters, preferWait],
        problems: ['overloaded'],
        isConditional: true,
        answers: {
          200: {
            description: 'The records.',
            headers: ['ETag', 'X-Total-Count', 'Link?', 'Preference-Applied?', 'Vary?'],
            content: json('Configurations'),
          },
        },
      },
      handler: 'list',
    },
    {
      method: 'POST',
      path: '/configurations/',
      access: 'write',
      limits: 'records',
      summary: 'adds a record; needs all four fields',
      answers: '200 with `Location`; 409',
      operation: {
        id: 'addConfiguration',
        tag: 'configurations',
        parameters: [reasonHeader],
        body: jsonBody('NewConfiguration'),
        answers: {
          200: {
            description: 'The record as it was added.',
            headers: ['ETag', 'Location'],
            content: json('OneConfiguration'),
          },
          409: nameTaken,
        },
      },
      handler: 'add',
    },
    {
      method: 'GET',
      path: '/configurations/:name',
      access: 'read',
      limits: 'records',
      summary: 'gets one record',
      answers: '200; 404',
      operation: {
        id: 'getConfiguration',
        tag: 'configurations',
        parameters: [nameInPath, preferWait],
        isConditional: true,
        answers: {
          200: {
            description: 'The record.',
            headers: ['ETag', 'Preference-Applied?', 'Vary?'],
            content: json('OneConfiguration'),
          },
        },
        problems: ['unknown_name', 'overloaded'],
      },
      handler: 'get',
    },
    {
      method: 'PUT',
      path: '/configurations/:name',
      access: 'write',
      limits: 'records',
      summary: 'adds a record, or replaces all its fields; `name` may be left out',
      answers: '201 with `Location` if it is new; 200',
      operation: {
        id: 'putConfiguration',
        tag: 'configurations',
        notes: 'With `If-None-Match: *` it only adds, with `If-Match` it only replaces.',
        parameters: [nameInPath, reasonHeader],
        isConditional: true,
        body: jsonBody('ConfigurationReplacement'),
        answers: {
          200: {
            description: 'The record as it is now; its `id` stays.',
            headers: ['ETag'],
            content: json('OneConfiguration'),
          },
          201: {
            description: 'The record as it was added.',
            headers: ['ETag', 'Location'],
            content: json('OneConfiguration'),
          },
        },
      },
      handler: 'put',
    },
    {
      method: 'PATCH',
      path: '/configurations/:name',
      access: 'write',
      limits: 'records',
      summary: 'changes the fields that you send',
      answers: '200; 404, 409',
      operation: {
        id: 'modifyConfiguration',
        tag: 'configurations',
        parameters: [nameInPath, reasonHeader],
        isConditional: true,
        body: jsonBody('ConfigurationPatch'),
        answers: {
          200: {
            description: 'The record as it is now; its `id` stays.',
            headers: ['ETag'],
            content: json('OneConfiguration'),
          },
          409: nameTaken,
        },
        problems: ['unknown_name'],
      },
      handler: 'modify',
    },
    {
      method: 'DELETE',
      path: '/configurations/:name',
      access: 'write',
      limits: 'records',
      summary: 'deletes a record',
      answers: '209, no body; 404',
      operation: {
        id: 'removeConfiguration',
        tag: 'configurations',
        parameters: [nameInPath, reasonHeader],
        isConditional: true,
        answers: { 209: { description: 'Deleted.' } },
        problems: ['unknown_name', 'invalid_input'],
      },
      handler: 'remove',
    },
  ],
})

const { start: OPEN, end: CLOSE } = listEnvelope

/**
 * @param basePath Prefix of the URLs in answers.
 * @param polls Holds the answers of those who prefer to wait; without it nobody waits.
 */
export function configurationHandlers(
  store: ConfigurationStore,
  basePath: string,
  scheduler: Scheduler,
  polls?: WaitingPolls,
) {
  const collection = `${basePath}/configurations/`
  const listed = new ConfigurationList(store, scheduler, collection, polls)
  return { list: (request: Request) => listed.answer(request), add, get, put, modify, remove }

  function get(request: Request, name: string): Reply | Promise<Reply> {
    if (request.headers.prefer === undefined || polls === undefined) return getNow(store, request, name)
    return polls.answer(request, { name }, () => getNow(store, request, name))
  }

  async function add(request: Request): Promise<Reply> {
    refuseDryRun(request.query)
    const draft = parseNewConfiguration(await readJsonObject(request))
    try {
      const added = await store.add(authorOf(request), draft, request)
      return only(added, { Location: collection + encodeURIComponent(added.name) })
    } catch (error) {
      return conflictOrThrow(error)
    }
  }

  async function put(request: Request, name: string): Promise<Reply> {
    refuseDryRun(request.query)
    const draft = parseReplacement(await readJsonObject(request), name)
    const { before, after } = await store.put(authorOf(request), draft, existence(request), request)
    if (before !== undefined) return only(after)
    return { ...only(after, { Location: collection + encodeURIComponent(name) }), status: 201 }
  }

  async function modify(request: Request, name: string): Promise<Reply> {
    refuseDryRun(request.query)
    const patch = parseConfigurationPatch(await readJsonObject(request))
    try {
      const { after } = await store.modify(authorOf(request), name, patch, expectation(request), request)
      return only(after)
    } catch (error) {
      return conflictOrThrow(error)
    }
  }

  async function remove(request: Request, name: string): Promise<Reply> {
    refuseDryRun(request.query)
    await store.remove(authorOf(request), name, expectation(request), request)
    return {
      status: 209,
      reason: 'Deleted',
      headers: { 'Cache-Control': CACHE_CONTROL, 'Content-Length': '0' },
    }
  }
}

/** @throws {UnknownNameError} if nothing of the name is there for the caller. {Problem} if it is not what he expects. */
function getNow(store: ConfigurationStore, request: Request, name: string): Reply {
  const found = store.find(name)
  const access = accessOf(request)
  const record = access === undefined ? found : access.seenOf(found)
  if (record === undefined) throw new UnknownNameError(name)
  const { etag } = record
  checkIfMatch(request, etag)
  return isUnchanged(request.headers['if-none-match'], etag)
    ? { status: 304, headers: { 'Cache-Control': CACHE_CONTROL, ETag: etag } }
    : only(record)
}

function only(record: Configuration, headers?: Record<string, string>): Reply {
  const { json } = record
  return {
    status: 200,
    headers: { 'Content-Type': JSON_TYPE, 'Cache-Control': CACHE_CONTROL, ETag: record.etag, ...headers },
    body: OPEN + json + CLOSE,
    // Measures only the record: to measure the whole body would join its parts first.
    bodyBytes: OPEN.length + Buffer.byteLength(json) + CLOSE.length,
  }
}

/** What the conditions of a request say of the record that is there; undefined without any. @throws {Problem} 400. */
function expectation({ headers }: Request): Expectation | undefined {
  const holds = conditionIn(headers)
  return holds && (({ etag }) => holds(etag))
}

/** As `expectation`, where there may be no record: then any `If-Match` fails, and any `If-None-Match` holds. */
function existence(request: Request): ((record: Configuration | undefined) => boolean) | undefined {
  const isExpectedRecord = expectation(request)
  if (isExpectedRecord === undefined) return undefined
  const mustExist = request.headers['if-match'] !== undefined
  return (record) => (record === undefined ? !mustExist : isExpectedRecord(record))
}

function conflictOrThrow(error: unknown): Reply {
  if (error instanceof NameTakenError)
    return envelope(error.holder === undefined ? [] : [error.holder], { 'Cache-Control': CACHE_CONTROL }, 409)
  throw error
}
